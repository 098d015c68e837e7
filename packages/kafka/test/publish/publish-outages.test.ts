import { randomBytes } from 'node:crypto'
import {
  defineEvents,
  type EventEnvelope,
  encodeEvent,
  partitionFor,
  type Runtime,
  UnavailableError,
} from '@waybill/core'
import { createKafkaClient, type KafkaClient, publishEvents } from '@waybill/kafka'
import {
  AuthenticationError,
  errorCode,
  type KafkaApi,
  type KafkaTransport,
  type RequestOf,
  type ResponseOf,
} from '@waybill/kafka/wire'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const schema = z.object({ id: z.string() })
const key = ({ id }: { readonly id: string }): string => id
const events = defineEvents({
  'order.placed': { topic: 'orders', schema, key },
  'order.lost': { topic: 'missing', schema, key },
})
const partitions = 6

interface World {
  readonly cluster: SimCluster
  readonly runtime: Runtime
  readonly kafka: KafkaClient
  /** Publishes an event. Resolves with `sent`, or with the error. */
  readonly publish: (event: EventEnvelope, signal?: AbortSignal) => Promise<unknown>
  readonly destinationsOf: (event: EventEnvelope) => readonly string[] | undefined
}

interface WorldOptions {
  readonly transactionalId?: string
  /** Replicas of each partition. */
  readonly replicationFactor?: number
  readonly configs?: Readonly<Record<string, string>>
  readonly wrap?: (transport: KafkaTransport) => KafkaTransport
}

function simulate(
  { transactionalId, replicationFactor = 3, configs = {}, wrap = (transport) => transport }: WorldOptions,
  program: (world: World) => Promise<void>,
): Promise<void> {
  const runtime = createVirtualRuntime(1)
  return runtime.run(async () => {
    const cluster = createSimCluster({ runtime, brokers: 3 })
    cluster.createTopic('orders', { partitions, replicationFactor, configs })
    const transport = wrap(cluster.transport('test'))
    await using kafka = createKafkaClient({ brokers: cluster.brokers, transport, runtime })
    const registry = publishEvents(kafka, events, { transactionalId })
    const publish: World['publish'] = async (event, signal = new AbortController().signal) => {
      const listener = registry.listenerFor('', event.eventType)
      if (listener === null) throw new Error('A listener was expected.')
      return listener(event, { signal, attempt: 1 }).then(
        () => 'sent',
        (error: unknown) => error,
      )
    }
    await program({ cluster, runtime, kafka, publish, destinationsOf: (event) => registry.destinationsOf?.(event) })
  })
}

const placed = (id: string): Promise<EventEnvelope> => encodeEvent(events, 'order.placed', { id })

/** Returns an order for each partition. */
function placedOnEach(): Promise<EventEnvelope[]> {
  const ids = Array.from({ length: partitions }, (_, partition) => {
    for (let index = 0; ; index++) if (partitionFor(`o-${index}`, partitions) === partition) return `o-${index}`
  })
  return Promise.all(ids.map(placed))
}

function destinationOf(error: unknown): string | undefined {
  if (!(error instanceof UnavailableError)) throw error
  return error.destination
}

const clusterName = 'kafka://sim:1,sim:2,sim:3'
const killAll = (cluster: SimCluster): void => [1, 2, 3].forEach((node) => cluster.killBroker(node))
const restartAll = (cluster: SimCluster): void => [1, 2, 3].forEach((node) => cluster.restartBroker(node))
const loginRefused = () => new AuthenticationError('The login failed.', 'NOT_SENT')

/** Refuses logins to these nodes while it is on. */
function refusingLogins(nodes: readonly number[]) {
  const state = { isOn: false }
  const wrap = (transport: KafkaTransport): KafkaTransport => ({
    connect: (node, ...rest) =>
      state.isOn && nodes.includes(node.port) ? Promise.reject(loginRefused()) : transport.connect(node, ...rest),
  })
  return { state, wrap }
}

/** Lets a topic be described but not written to in a transaction, as a broker refuses a missing WRITE permission. */
const forbidding =
  (topic: string) =>
  (transport: KafkaTransport): KafkaTransport => ({
    async connect(...where) {
      const connection = await transport.connect(...where)
      return {
        ended: connection.ended,
        close: () => connection.close(),
        send: <A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> => {
          const { topics } = request as RequestOf<'AddPartitionsToTxn'>
          if (api !== 'AddPartitionsToTxn' || topics.every(({ name }) => name !== topic))
            return connection.send(api, request)
          const answered = topics.map(({ name, partitions: numbers }) => {
            const code = name === topic ? errorCode.TOPIC_AUTHORIZATION_FAILED : errorCode.OPERATION_NOT_ATTEMPTED
            return { name, partitions: numbers.map((partitionIndex) => ({ partitionIndex, errorCode: code })) }
          })
          return Promise.resolve({ topics: answered } as unknown as ResponseOf<A>)
        },
      }
    },
  })

/** Returns the partitions that fail, after checking that each names itself and the others are published. */
async function failingPartitions({ publish, destinationsOf }: World): Promise<number[]> {
  const sent = await placedOnEach()
  const results = await Promise.all(sent.map((event) => publish(event)))
  return results.flatMap((result, partition) => {
    if (result === 'sent') return []
    expect(destinationOf(result)).toBe(`${clusterName}/orders/${partition}`)
    expect(destinationsOf(sent[partition] as EventEnvelope)?.at(-1)).toBe(`${clusterName}/orders/${partition}`)
    return [partition]
  })
}
const ledBy = (cluster: SimCluster, node: number): number[] =>
  Array.from({ length: partitions }, (_, partition) => partition).filter(
    (partition) => cluster.partition('orders', partition).leader === node,
  )
async function connectedTo(world: World): Promise<void> {
  expect(await failingPartitions(world)).toEqual([])
}

describe('the cluster is named unavailable', () => {
  test.each([false, true])('while no broker accepts connections (connected before: %s)', (isConnected) =>
    simulate({}, async ({ cluster, publish }) => {
      if (isConnected) expect(await publish(await placed('o-1'))).toBe('sent')
      killAll(cluster)
      const error = await publish(await placed('o-1'))
      expect(destinationOf(error)).toBe(clusterName)
      expect((error as Error).message).toContain('no node of the cluster answers')
      restartAll(cluster)
      expect(await publish(await placed('o-1'))).toBe('sent')
    }),
  )

  test('while brokers accept requests and answer none', () =>
    simulate({}, async ({ cluster, publish }) => {
      expect(await publish(await placed('o-1'))).toBe('sent')
      cluster.stall({})
      expect(destinationOf(await publish(await placed('o-1')))).toBe(clusterName)
    }))

  test('while every broker refuses the login', async () => {
    const { state, wrap } = refusingLogins([1, 2, 3])
    state.isOn = true
    await simulate({ wrap }, async ({ publish }) => {
      const error = await publish(await placed('o-1'))
      expect(destinationOf(error)).toBe(clusterName)
      expect((error as Error).message).toContain('The login failed.')
      state.isOn = false
      expect(await publish(await placed('o-1'))).toBe('sent')
    })
  })

  test('while no producer id may be obtained', () =>
    simulate({}, async ({ cluster, publish }) => {
      cluster.failNext('InitProducerId', errorCode.CLUSTER_AUTHORIZATION_FAILED)
      expect(destinationOf(await publish(await placed('o-1')))).toBe(clusterName)
      expect(await publish(await placed('o-1'))).toBe('sent')
    }))

  test('once the client is closed, before and after the first event', () =>
    simulate({}, async ({ kafka, publish }) => {
      expect(await publish(await placed('o-1'))).toBe('sent')
      const other = publishEvents(kafka, events)
      await kafka.close()
      expect(destinationOf(await publish(await placed('o-1')))).toBe(clusterName)
      const context = { signal: new AbortController().signal, attempt: 1 }
      await expect(other.listenerFor('', 'order.placed')?.(await placed('o-1'), context)).rejects.toMatchObject({
        destination: clusterName,
      })
    }))

  test('and a probe in progress succeeds within two seconds of the return, however long the outage was', () =>
    simulate({}, async ({ cluster, runtime, publish }) => {
      expect(await publish(await placed('o-1'))).toBe('sent')
      for (let round = 0; round < 20; round++) {
        killAll(cluster)
        await runtime.timers.sleep(3_600_000)
        const probe = publish(await placed('o-1'))
        await runtime.timers.sleep(1_000 + round * 1_400)
        restartAll(cluster)
        const since = runtime.clock.monotonic()
        expect(await probe).toBe('sent')
        expect(runtime.clock.monotonic() - since).toBeLessThan(2_000)
      }
    }))
})

describe('the topic is named unavailable', () => {
  test('while it does not exist', () =>
    simulate({}, async ({ cluster, publish, destinationsOf }) => {
      const event = await encodeEvent(events, 'order.lost', { id: 'o-1' })
      const error = await publish(event)
      expect(destinationOf(error)).toBe(`${clusterName}/missing`)
      expect((error as Error).message).toContain('Topic missing does not exist')
      expect(destinationsOf(event)).toEqual([clusterName, `${clusterName}/missing`])
      expect(await publish(await placed('o-1'))).toBe('sent')
      cluster.createTopic('missing')
      expect(await publish(event)).toBe('sent')
    }))

  test('once it is deleted, and its events are published when it exists again', () =>
    simulate({}, async ({ cluster, publish }) => {
      expect(await publish(await placed('o-1'))).toBe('sent')
      cluster.deleteTopic('orders')
      expect(destinationOf(await publish(await placed('o-1')))).toBe(`${clusterName}/orders`)
      cluster.createTopic('orders', { partitions })
      expect(await publish(await placed('o-1'))).toBe('sent')
    }))

  test('once it is deleted, also when it has fewer partitions afterward', () =>
    simulate({}, async ({ cluster, publish }) => {
      expect(await publish(await placed('o-1'))).toBe('sent')
      cluster.deleteTopic('orders')
      expect(destinationOf(await publish(await placed('o-1')))).toBe(`${clusterName}/orders`)
      cluster.createTopic('orders', { partitions: 1 })
      expect(destinationOf(await publish(await placed('o-1')))).toBe(`${clusterName}/orders/0`)
      expect(await publish(await placed('o-1'))).toBe('sent')
    }))

  test.each(['Metadata', 'Produce'] as const)('while %s refuses access to it', (api) =>
    simulate({}, async ({ cluster, publish }) => {
      cluster.failNext(api, errorCode.TOPIC_AUTHORIZATION_FAILED)
      expect(destinationOf(await publish(await placed('o-1')))).toBe(`${clusterName}/orders`)
    }),
  )
})

describe('only the partition is named unavailable', () => {
  test.each([false, true])(
    'while its leader is frozen and other brokers answer (connected before: %s)',
    (isConnected) =>
      simulate({}, async (world) => {
        if (isConnected) await connectedTo(world)
        world.cluster.stall({ node: 2 })
        const led = ledBy(world.cluster, 2)
        expect(led.length).toBeGreaterThan(0)
        expect(await failingPartitions(world)).toEqual(led)
      }),
  )

  test.each([false, true])('while it has no leader (connected before: %s)', (isConnected) =>
    simulate({ replicationFactor: 1 }, async (world) => {
      if (isConnected) await connectedTo(world)
      const led = ledBy(world.cluster, 2)
      world.cluster.killBroker(2)
      expect(await failingPartitions(world)).toEqual(led)
      const [event] = (await placedOnEach()).filter((_, partition) => led.includes(partition))
      expect((await world.publish(event as EventEnvelope)) as Error).toMatchObject({
        message: expect.stringContaining(' has no leader.') as string,
      })
      world.cluster.restartBroker(2)
      expect(await failingPartitions(world)).toEqual([])
    }),
  )

  test('and its next sends take less time, up to one that a slow leader answers', () =>
    simulate({ replicationFactor: 1 }, async ({ cluster, runtime, publish }) => {
      const sent = await placedOnEach()
      expect(await Promise.all(sent.map((event) => publish(event)))).toEqual(sent.map(() => 'sent'))
      const event = sent[ledBy(cluster, 2)[0] as number] as EventEnvelope
      cluster.killBroker(2)
      const seconds: number[] = []
      for (let attempt = 0; attempt < 6; attempt++) {
        const since = runtime.clock.monotonic()
        const error = await publish(event)
        expect((error as Error).message).toContain('has no leader')
        seconds.push(Math.round((runtime.clock.monotonic() - since) / 1_000))
      }
      expect(seconds).toEqual([30, 2, 4, 8, 8, 8])
      cluster.restartBroker(2)
      const slow = cluster.stall({ api: 'Produce' })
      const published = publish(event)
      await runtime.timers.sleep(6_500)
      slow[Symbol.dispose]()
      expect(await published).toBe('sent')
    }))

  test('while it has not enough replicas', () =>
    simulate({ replicationFactor: 2, configs: { 'min.insync.replicas': '2' } }, async (world) => {
      await connectedTo(world)
      world.cluster.killBroker(2)
      const failing = await failingPartitions(world)
      expect(failing.length).toBeGreaterThan(0)
      expect(failing.length).toBeLessThan(partitions)
      world.cluster.restartBroker(2)
      expect(await failingPartitions(world)).toEqual([])
    }))

  test('while its leader alone refuses the login', async () => {
    const { state, wrap } = refusingLogins([2])
    await simulate({ wrap }, async (world) => {
      state.isOn = true
      expect(await failingPartitions(world)).toEqual(ledBy(world.cluster, 2))
    })
  })

  test('and an event without a key names none of the partitions', () =>
    simulate({}, async ({ cluster, publish, destinationsOf }) => {
      const event = { ...(await placed('o-1')), aggregateId: null }
      expect(await publish(event)).toBe('sent')
      for (let attempt = 0; attempt < 4; attempt++) cluster.failNext('Produce', errorCode.NOT_ENOUGH_REPLICAS)
      expect(destinationOf(await publish(event))).toBe(`${clusterName}/orders/*`)
      expect(destinationsOf(event)).toEqual([clusterName, `${clusterName}/orders`, `${clusterName}/orders/*`])
    }))
})

describe('a failed send', () => {
  test('that was canceled keeps its error', () =>
    simulate({}, async ({ cluster, runtime, publish }) => {
      killAll(cluster)
      const canceling = new AbortController()
      const result = publish(await placed('o-1'), canceling.signal)
      await runtime.timers.sleep(1_000)
      canceling.abort(new Error('The outbox stops.'))
      expect(await result).toMatchObject({ code: 'WAYBILL_KAFKA', kind: 'RETRIABLE' })
    }))

  test('of a fenced producer does not repeat with the next event', () =>
    simulate({}, async ({ cluster, publish }) => {
      cluster.failNext('Produce', errorCode.INVALID_PRODUCER_EPOCH)
      const partition = partitionFor('o-1', partitions)
      expect(destinationOf(await publish(await placed('o-1')))).toBe(`${clusterName}/orders/${partition}`)
      expect(await publish(await placed('o-1'))).toBe('sent')
    }))

  test.each(['INVALID_RECORD', 'MESSAGE_TOO_LARGE'] as const)('is not retried when the broker answers %s', (name) =>
    simulate({}, async ({ cluster, publish }) => {
      cluster.failNext('Produce', errorCode[name])
      const error = await publish(await placed('o-1'))
      expect(error).toMatchObject({ code: 'WAYBILL_NON_RETRYABLE', cause: { reason: name } })
    }),
  )

  test('of records that were lost together blames none of them', () =>
    simulate({ configs: { 'max.message.bytes': '3000' } }, async ({ cluster, runtime, publish }) => {
      expect(await publish(await placed('o-1'))).toBe('sent')
      const large = { ...(await placed('o-1')), headers: { noise: randomBytes(6_000).toString('base64') } }
      const lost = cluster.dropResponses({ api: 'Produce' })
      const beside = [await placed('o-1'), await placed('o-1')]
      const results = Promise.all([large, ...beside].map((event) => publish(event)))
      await runtime.timers.sleep(5_000)
      lost[Symbol.dispose]()
      const partition = partitionFor('o-1', partitions)
      for (const result of await results) expect(destinationOf(result)).toBe(`${clusterName}/orders/${partition}`)
      expect(await publish(await placed('o-1'))).toBe('sent')
      expect(await publish(large)).toMatchObject({ code: 'WAYBILL_NON_RETRYABLE' })
    }))
})

describe('with a transactional id', () => {
  const transactionalId = 'relay-1'
  const whole = `${clusterName}?transactionalId=relay-1`

  test.each([
    ['InitProducerId', 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED'],
    ['InitProducerId', 'INVALID_TRANSACTION_TIMEOUT'],
    ['InitProducerId', 'PRODUCER_FENCED'],
    ['FindCoordinator', 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED'],
    ['AddPartitionsToTxn', 'INVALID_PRODUCER_EPOCH'],
    ['AddPartitionsToTxn', 'INVALID_TXN_STATE'],
    ['Produce', 'INVALID_PRODUCER_EPOCH'],
    ['Produce', 'INVALID_TXN_STATE'],
    ['Produce', 'TRANSACTION_ABORTABLE'],
    ['EndTxn', 'PRODUCER_FENCED'],
    ['EndTxn', 'INVALID_TXN_STATE'],
    ['EndTxn', 'TRANSACTION_COORDINATOR_FENCED'],
  ] as const)('all its events wait when %s answers %s, and the next transaction works', (api, name) =>
    simulate({ transactionalId }, async ({ cluster, publish }) => {
      cluster.failNext(api, errorCode[name])
      const sent = await placedOnEach()
      const results = await Promise.all(sent.map((event) => publish(event)))
      expect(results.map(destinationOf)).toEqual(sent.map(() => whole))
      expect(await Promise.all(sent.map((event) => publish(event)))).toEqual(sent.map(() => 'sent'))
    }),
  )

  test('all its events wait while no broker answers', () =>
    simulate({ transactionalId }, async ({ cluster, publish }) => {
      expect(await publish(await placed('o-1'))).toBe('sent')
      killAll(cluster)
      expect(destinationOf(await publish(await placed('o-1')))).toBe(whole)
      expect(destinationOf(await publish(await placed('o-1')))).toBe(whole)
      restartAll(cluster)
      expect(await publish(await placed('o-1'))).toBe('sent')
    }))

  test('all its events wait while its coordinator does not answer', () =>
    simulate({ transactionalId }, async ({ cluster, publish }) => {
      cluster.stall({ api: 'InitProducerId' })
      expect(destinationOf(await publish(await placed('o-1')))).toBe(whole)
    }))

  test('events of other partitions are published while some have no leader, and theirs once they have one', () =>
    simulate({ transactionalId, replicationFactor: 1 }, async ({ cluster, runtime, publish }) => {
      const sent = await placedOnEach()
      const led = ledBy(cluster, 2)
      expect(led.length).toBeGreaterThan(1)
      cluster.moveCoordinator('TRANSACTION', transactionalId, 1)
      cluster.killBroker(2)
      /** Publishes an event on each partition. Returns the time until all others are published, and until the end. */
      const round = async (): Promise<readonly [othersMs: number, allMs: number]> => {
        const since = runtime.clock.monotonic()
        const elapsed = (): number => runtime.clock.monotonic() - since
        const results = sent.map((event) => publish(event))
        const others = await Promise.all(results.filter((_, partition) => !led.includes(partition)))
        const othersMs = elapsed()
        expect(others).toEqual(others.map(() => 'sent'))
        for (const partition of led)
          expect(await results[partition]).toMatchObject({
            destination: `${clusterName}/orders/${partition}?transactionalId=relay-1`,
            message: expect.stringContaining('has no leader') as string,
          })
        return [othersMs, elapsed()]
      }
      expect((await round())[0]).toBeLessThan(31_000)
      for (let count = 0; count < 5; count++) {
        const [othersMs, allMs] = await round()
        expect(othersMs).toBeLessThan(100)
        expect(allMs).toBeLessThan(9_000)
      }
      cluster.restartBroker(2)
      expect(await Promise.all(sent.map((event) => publish(event)))).toEqual(sent.map(() => 'sent'))
    }))

  test('events of failed partitions are tried in turn with the others, however many there are', () =>
    simulate({ transactionalId, replicationFactor: 1 }, async ({ cluster, runtime, publish }) => {
      const sent = await placedOnEach()
      const [failed] = ledBy(cluster, 2)
      const healthy = sent.find((_, partition) => cluster.partition('orders', partition).leader === 1)
      cluster.moveCoordinator('TRANSACTION', transactionalId, 1)
      cluster.killBroker(2)
      await Promise.all(sent.map((event) => publish(event)))
      cluster.restartBroker(2)
      let isOver = false
      const load = Array.from({ length: 5 }, async () => {
        while (!isOver) expect(await publish(healthy as EventEnvelope)).toBe('sent')
      })
      await runtime.timers.sleep(100)
      expect(await publish(sent[failed as number] as EventEnvelope)).toBe('sent')
      isOver = true
      await Promise.all(load)
    }))

  test('events of other topics are published while one may not be written to', () =>
    simulate({ transactionalId, wrap: forbidding('missing') }, async ({ cluster, publish }) => {
      cluster.createTopic('missing')
      const forbidden = await encodeEvent(events, 'order.lost', { id: 'o-1' })
      const sent = await placedOnEach()
      const results = await Promise.all([forbidden, ...sent].map((event) => publish(event)))
      expect(destinationOf(results.shift())).toBe(`${clusterName}/missing?transactionalId=relay-1`)
      expect(results).toEqual(sent.map(() => 'sent'))
    }))
})

test('two clients of one cluster have destinations of their own, by their client ids', () =>
  simulate({}, async ({ cluster, runtime }) => {
    const names = [undefined, 'billing'].map((clientId) => {
      const transport = cluster.transport('other')
      const options = { brokers: cluster.brokers, transport, runtime }
      const kafka = createKafkaClient(clientId === undefined ? options : { ...options, clientId })
      const outside = { eventType: 'unknown', aggregateId: null } as EventEnvelope
      return publishEvents(kafka, events).destinationsOf?.(outside)
    })
    expect(names).toEqual([[clusterName], ['kafka://billing@sim:1,sim:2,sim:3']])
  }))
