import { errorCode, type ProduceRequest } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import { createFencedAppender } from '../../../src/client/producer/fenced-appender.ts'
import { textRecord } from './producer-behaviour.ts'
import type { RunInWorld, World } from './world.ts'

async function valuesIn(world: World, topic: string): Promise<(string | null)[]> {
  return (await world.readLog(topic, 0)).map(({ value }) => value)
}

/** Sends a request as it was caught on its way, over a connection of its own; answers the code of its only partition. */
async function arrive(world: World, topic: string, late: ProduceRequest): Promise<number | undefined> {
  const { cluster, nodes } = world.client()
  const leader = (await cluster.topics([topic], 5_000)).get(topic)?.leaders[0]
  if (leader === undefined || leader === null) throw new Error(`${topic} has no leader.`)
  const answer = await nodes.send(leader, 'Produce', late, 5_000)
  return answer.topics[0]?.partitions[0]?.errorCode
}

/** Holds Produce requests until released: they neither arrive nor fail. */
function catchProduce(world: World): { readonly caught: ProduceRequest[]; stop(): void } {
  const caught: ProduceRequest[] = []
  world.transport.onRequest = async (api, request) => {
    if (api !== 'Produce') return
    caught.push(request as ProduceRequest)
    await new Promise(() => {})
  }
  return {
    caught,
    stop: () => {
      world.transport.onRequest = undefined
    },
  }
}

const impatient = { deliveryTimeoutMs: 1_000, requestTimeoutMs: 400, retryBackoffMs: 20 }

/** Behavior of a fenced appender on every cluster. */
export function testFencedAppender(run: RunInWorld): void {
  test('appends in order, and what it wrote is visible at once', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using appender = await createFencedAppender(world.client(), world.named('owner'))
      const values = Array.from({ length: 100 }, (_, index) => `${index}`)
      const written = await Promise.all(values.map((value) => appender.append(textRecord(topic, value, 0))))
      expect(written.map(({ offset }) => offset)).toEqual(values.map((_, index) => BigInt(index)))
      expect(await valuesIn(world, topic)).toEqual(values)
    }))

  test('a former owner is refused once the new one has written, and not before', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const id = world.named('owner')
      const former = await createFencedAppender(world.client(), id)
      await former.append(textRecord(topic, 'former', 0))
      const owner = await createFencedAppender(world.client(), id)
      expect(owner.epoch).toBeGreaterThan(former.epoch)
      await former.append(textRecord(topic, 'former, late', 0))
      await owner.append(textRecord(topic, 'fence', 0))
      await expect(former.append(textRecord(topic, 'zombie', 0))).rejects.toMatchObject({ kind: 'FENCED' })
      await expect(former.append(textRecord(topic, 'zombie', 0))).rejects.toMatchObject({ kind: 'FENCED' })
      await expect(former.renew()).rejects.toMatchObject({ kind: 'FENCED' })
      await owner.append(textRecord(topic, 'owner', 0))
      await Promise.all([former.close(), owner.close()])
      expect(await valuesIn(world, topic)).toEqual(['former', 'former, late', 'fence', 'owner'])
    }))

  test('a former owner cannot renew, even before the new one has written', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const id = world.named('owner')
      const former = await createFencedAppender(world.client(), id)
      const owner = await createFencedAppender(world.client(), id)
      await expect(former.renew()).rejects.toMatchObject({ kind: 'FENCED' })
      await expect(former.append(textRecord(topic, 'zombie', 0))).rejects.toMatchObject({ kind: 'FENCED' })
      await Promise.all([former.close(), owner.close()])
    }))

  test('writes everything once and in order when 3 of 10 answers are lost', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const options = { retryBackoffMs: 5, batchBytes: 200 }
      await using appender = await createFencedAppender(world.client(), world.named('owner'), options)
      world.transport.lose('Produce', 0.3)
      const values = Array.from({ length: 200 }, (_, index) => `${index}`)
      await Promise.all(values.map((value) => appender.append(textRecord(topic, value, 0))))
      expect(world.transport.lostCount).toBeGreaterThan(3)
      expect(await valuesIn(world, topic)).toEqual(values)
    }))

  test('an append of unknown fate stops those behind it until the epoch is renewed, and never appears after that', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using appender = await createFencedAppender(world.client(), world.named('owner'), impatient)
      await appender.append(textRecord(topic, 'first', 0))
      const way = catchProduce(world)
      const unknown = appender.append(textRecord(topic, 'unknown', 0))
      await world.runtime.timers.sleep(50)
      const behind = appender.append(textRecord(topic, 'behind', 0))
      await expect(unknown).rejects.toMatchObject({ kind: 'UNKNOWN' })
      await expect(behind).rejects.toMatchObject({ kind: 'RETRIABLE' })
      way.stop()
      await expect(appender.append(textRecord(topic, 'later', 0))).rejects.toMatchObject({ kind: 'RETRIABLE' })
      const { epoch } = appender
      await appender.renew()
      expect(appender.epoch).toBe(epoch + 1)
      await appender.append(textRecord(topic, 'fence', 0))
      expect(way.caught.length).toBeGreaterThan(0)
      for (const late of way.caught) expect(await arrive(world, topic, late)).toBe(errorCode.INVALID_PRODUCER_EPOCH)
      await appender.append(textRecord(topic, 'unknown again', 0))
      expect(await valuesIn(world, topic)).toEqual(['first', 'fence', 'unknown again'])
    }))

  test('renews while all is well, with an answer of the coordinator lost', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using appender = await createFencedAppender(world.client(), world.named('owner'))
      const first = appender.append(textRecord(topic, 'first', 0))
      const { epoch } = appender
      let asked = 0
      world.transport.lose('InitProducerId', 1)
      world.transport.onRequest = (api) => {
        if (api === 'InitProducerId' && ++asked === 2) world.transport.lose('InitProducerId', 0)
      }
      await appender.renew()
      await first
      expect(asked).toBe(2)
      expect(appender.epoch).toBe(epoch + 1)
      await appender.append(textRecord(topic, 'second', 0))
      expect(await valuesIn(world, topic)).toEqual(['first', 'second'])
    }))

  test('renewals that overlap are one, and what is appended between their ends is not lost', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using appender = await createFencedAppender(world.client(), world.named('owner'))
      await appender.append(textRecord(topic, 'first', 0))
      const { epoch } = appender
      const between = Promise.withResolvers<void>()
      let asked = 0
      world.transport.onRequest = async (api) => {
        // A second request would be answered with the epoch that the first one got.
        if (api === 'InitProducerId' && ++asked === 2) await between.promise
      }
      const renewals = [appender.renew(), appender.renew()]
      await renewals[0]
      await appender.append(textRecord(topic, 'between', 0))
      between.resolve()
      await Promise.all(renewals)
      await appender.append(textRecord(topic, 'after', 0))
      expect(appender.epoch).toBe(epoch + 1)
      expect(await valuesIn(world, topic)).toEqual(['first', 'between', 'after'])
      await appender.renew()
      expect(appender.epoch).toBe(epoch + 2)
    }))

  test('a refused append fails those behind it, so that they can be appended again in order', () =>
    run(async (world) => {
      const topic = await world.createTopic(1, { 'max.message.bytes': '2000' })
      const options = { compression: 'NONE' } as const
      await using appender = await createFencedAppender(world.client(), world.named('owner'), options)
      const values = ['0', '1', 'x'.repeat(3_000), '3', '4']
      const results = await Promise.allSettled(values.map((value) => appender.append(textRecord(topic, value, 0))))
      expect(
        results.map((one) => (one.status === 'fulfilled' ? 'written' : (one.reason as { kind: string }).kind)),
      ).toEqual(['written', 'written', 'FATAL', 'RETRIABLE', 'RETRIABLE'])
      await appender.append(textRecord(topic, '3', 0))
      expect(await valuesIn(world, topic)).toEqual(['0', '1', '3'])
    }))

  test('refuses appends and renewals after close', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const appender = await createFencedAppender(world.client(), world.named('owner'))
      const last = appender.append(textRecord(topic, 'last', 0))
      await appender.close()
      await last
      await expect(appender.append(textRecord(topic, 'late', 0))).rejects.toMatchObject({ kind: 'FATAL' })
      await expect(appender.renew()).rejects.toMatchObject({ kind: 'FATAL' })
      expect(await valuesIn(world, topic)).toEqual(['last'])
    }))
}
