import { TransportError } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { outsider, SimClient, simulate, textBatch } from './sim-client.ts'

describe('a connection', () => {
  test('responds in order, however long the requests take', () =>
    simulate(
      async (cluster) => {
        const client = await SimClient.connect(cluster)
        const answered: number[] = []
        await Promise.all(
          Array.from({ length: 20 }, async (_, index) => {
            await client.send('Metadata', { topics: [] })
            answered.push(index)
          }),
        )
        expect(answered).toEqual(Array.from({ length: 20 }, (_, index) => index))
      },
      { latencyMs: 100 },
    ))

  test('serves one request at a time: a commit waits behind a fetch that waits, on another it does not', () =>
    simulate(async (cluster, runtime) => {
      cluster.createTopic('t')
      const [shared, own] = [await SimClient.connect(cluster), await SimClient.connect(cluster)]
      const topicId = await shared.topicId('t')
      const before = runtime.clock.monotonic()
      const fetched = shared.fetchById(topicId, 0, 0n, { maxWaitMs: 4_000 })
      const behind = shared.commit('g', outsider, 1n)
      await own.commit('h', outsider, 1n)
      expect(runtime.clock.monotonic() - before).toBeLessThan(100)
      await behind
      expect(runtime.clock.monotonic() - before).toBeGreaterThanOrEqual(4_000)
      await fetched
    }))

  test.each([
    ['a node that is down', 'sim', 2],
    ['a node that does not exist', 'sim', 9],
    ['another host', 'localhost', 1],
  ])('to %s is refused', (_what, host, port) =>
    simulate(
      async (cluster) => {
        cluster.killBroker(2)
        const error = await cluster
          .transport('x')
          .connect({ host, port }, 'x')
          .catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(TransportError)
        expect(error).toMatchObject({ outcome: 'NOT_SENT' })
      },
      { brokers: 2 },
    ),
  )

  test('that the client closes loses the responses, not the sent requests', () =>
    simulate(async (cluster, runtime) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      const sent = [1, 2].map(() => client.produce('t', 0, textBatch(['late'])).catch((error: unknown) => error))
      client.connection.close()
      for (const outcome of await Promise.all(sent)) expect(outcome).toMatchObject({ outcome: 'UNKNOWN' })
      expect(await client.connection.ended).toBeNull()
      expect(cluster.partition('t', 0).highWatermark).toBe(0n)
      await runtime.timers.sleep(10)
      expect(cluster.partition('t', 0).highWatermark).toBe(2n)
      await expect(client.topicId('t')).rejects.toMatchObject({ outcome: 'NOT_SENT' })
    }))

  test('that is cut loses what has not arrived', () =>
    simulate(async (cluster, runtime) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster, 1, 'shop')
      const other = await SimClient.connect(cluster, 1, 'bank')
      const sent = client.produce('t', 0, textBatch(['lost'])).catch((error: unknown) => error)
      cluster.cut({ client: 'shop' })
      expect(await sent).toMatchObject({ outcome: 'UNKNOWN' })
      expect(await client.connection.ended).toBeInstanceOf(TransportError)
      await runtime.timers.sleep(10)
      expect(cluster.partition('t', 0).highWatermark).toBe(0n)
      expect((await other.produce('t', 0, textBatch(['kept']))).error).toBe('NONE')
    }))

  test('ends with its node, and the request being served gets no answer', () =>
    simulate(
      async (cluster, runtime) => {
        cluster.createTopic('t')
        const client = await SimClient.connect(cluster)
        const waiting = client.fetch('t', 0, 0n, { maxWaitMs: 60_000 }).catch((error: unknown) => error)
        await runtime.timers.sleep(100)
        cluster.killBroker(1)
        expect(await waiting).toMatchObject({ outcome: 'UNKNOWN' })
        expect(await client.connection.ended).toMatchObject({ message: 'Node 1 went down.' })
        cluster.restartBroker(1)
        const again = await SimClient.connect(cluster)
        expect((await again.produce('t', 0, textBatch(['a']))).error).toBe('NOT_LEADER_OR_FOLLOWER')
      },
      { brokers: 2 },
    ))

  test('may be closed twice, and cut after it was closed', () =>
    simulate(async (cluster) => {
      const client = await SimClient.connect(cluster)
      client.connection.close()
      client.connection.close()
      cluster.cut({})
      expect(await client.connection.ended).toBeNull()
    }))
})
