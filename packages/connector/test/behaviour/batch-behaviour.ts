/** Tests bindings with `listenerType: BATCH` through a connector only, on a simulated cluster and on Apache Kafka. */

import { Buffer } from 'node:buffer'
import { defineEvents, encodeEvent, NonRetryableError } from '@waybill/core'
import { type KafkaRecord, type OutRecord, requireAllDone } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector, DerivedTopicsMode } from '../../src/api/connector.ts'
import { BatchProcessingError } from '../../src/handlers/batch-processing-error.ts'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { type BehaviourPlace, BehaviourScene, type InPlace } from '../support/behaviour-scene.ts'

/** The cluster that a connector runs on. */
export interface BatchPlace extends BehaviourPlace {
  /** Makes a topic refuse records without a key, until what it answers is called. */
  refuse(topic: string): Promise<() => Promise<void>>
}

const once = { tier0: { maxAttempts: 1 } } as const
const quick = { tiers: [{ delayMs: 50, maxAttempts: 1 }] }
const valueOf = ({ value }: Pick<KafkaRecord, 'value'>): string => String(value)

class Scene extends BehaviourScene<BatchPlace> {
  start(
    binding: Omit<Binding, 'topic' | 'groupId' | 'listenerType'>,
    derivedTopics: DerivedTopicsMode = 'CREATE',
  ): Promise<Connector> {
    return this.startWith({ listenerType: 'BATCH', ...binding }, { derivedTopics })
  }

  async send(records: readonly Omit<OutRecord, 'topic'>[]): Promise<void> {
    const producer = this.place.client.producer('EVENT')
    await Promise.all(records.map((record) => producer.send({ topic: this.topic, ...record })))
    await producer.close()
  }

  write(values: readonly string[], partition = 0): Promise<void> {
    return this.send(values.map((value) => ({ partition, key: null, value: Buffer.from(value) })))
  }

  async committed(): Promise<Record<number, bigint | null>> {
    const offsets = requireAllDone('offsets', await this.place.client.admin.groupOffsets(this.groupId))
    const own = offsets.filter(({ topic }) => topic === this.topic)
    return Object.fromEntries(own.map(({ partition, committed }) => [partition, committed]))
  }

  untilCommitted(expected: Record<number, bigint>): Promise<void> {
    return this.until(async () => {
      const committed = await this.committed()
      for (const [partition, offset] of Object.entries(expected))
        if (committed[Number(partition)] !== offset)
          throw new Error(`Partition ${partition} has committed ${committed[Number(partition)]}, not ${offset}.`)
    })
  }

  async deadLetters(): Promise<number> {
    const { admin } = this.place.client
    const topic = `${this.topic}.DLT`
    const [view] = requireAllDone('topics', await admin.describeTopics([topic]))
    const places = (view?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
    const ends = requireAllDone('ends', await admin.listOffsets(places, 'LATEST'))
    return ends.reduce((sum, { offset }) => sum + Number(offset ?? 0n), 0)
  }
}

const numbers = (from: number, to: number, prefix = ''): string[] =>
  Array.from({ length: to - from }, (_, index) => `${prefix}${from + index}`)

/** Counts the handler calls of each record. */
function tally(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

/** Declares the tests. */
export function testBatches(inPlace: InPlace<BatchPlace>): void {
  const inScene = (partitions: number, program: (scene: Scene) => Promise<void>): Promise<void> =>
    inPlace(async (place) => {
      await using scene = new Scene(place, await place.createTopic(partitions))
      await program(scene)
    })

  test('S2-035 of 100 to 104 with 103 unparsable: 103 is committed, 103 is dead-lettered, 104 is handled, 105 is committed', () =>
    inScene(1, async (scene) => {
      const events = defineEvents({
        placed: { topic: scene.topic, schema: z.object({ orderId: z.string() }), key: () => null },
      })
      const handled: string[] = []
      const handler = handleEvents(events, { placed: ({ payload }) => void handled.push(payload.orderId) })
      const placed = async (orderId: string): Promise<Omit<OutRecord, 'topic'>> => {
        const { headers, ...record } = events.wireFormat.encode(await encodeEvent(events, 'placed', { orderId }))
        return { ...record, headers: [...headers], partition: 0 }
      }
      const earlier = await scene.start({ handler, orderingMode: 'STRICT' })
      await scene.send(await Promise.all(numbers(0, 100).map(placed)))
      await scene.untilCommitted({ 0: 100n })
      await earlier.stop()
      handled.length = 0

      const restore = await scene.place.refuse(`${scene.topic}.DLT`)
      const broken = { ...(await placed('103')), value: Buffer.from('{"orderId":') }
      const rest = await Promise.all(['100', '101', '102', '104'].map(placed))
      await scene.send([...rest.slice(0, 3), broken, ...rest.slice(3)])
      await scene.start({ handler, orderingMode: 'STRICT' }, 'ASSUME')
      await scene.untilCommitted({ 0: 103n })
      expect(handled).toEqual(['100', '101', '102'])
      await restore()
      await scene.until(() => expect(handled).toEqual(['100', '101', '102', '104']))
      expect(await scene.deadLetters()).toBe(1)
      await scene.untilCommitted({ 0: 105n })
    }))

  test('S0-091 S0-092 C-23 a failure in one partition repeats nothing that was handled, in any', () =>
    inScene(3, async (scene) => {
      const calls: string[] = []
      const failures = new Map([
        ['p0-7', 2],
        ['p1-0', 1],
        ['p1-19', 2],
      ])
      const handler = (record: KafkaRecord): void => {
        const value = valueOf(record)
        calls.push(value)
        const left = failures.get(value) ?? 0
        failures.set(value, left - 1)
        if (left > 0) throw new Error('not yet')
      }
      for (const partition of [0, 1, 2]) await scene.write(numbers(0, 20, `p${partition}-`), partition)
      await scene.start({ handler, retry: once })
      await scene.untilCommitted({ 0: 20n, 1: 20n, 2: 20n })
      const all = [0, 1, 2].flatMap((partition) => numbers(0, 20, `p${partition}-`))
      expect(tally(calls)).toEqual({ ...tally(all), 'p0-7': 3, 'p1-0': 2, 'p1-19': 3 })
      for (const partition of [0, 1, 2]) {
        const own = calls.filter(
          (value, at) => value.startsWith(`p${partition}-`) && !calls.slice(0, at).includes(value),
        )
        expect(own).toEqual(numbers(0, 20, `p${partition}-`))
      }
      expect(await scene.deadLetters()).toBe(0)
    }))

  test('S0-096 C-05 a record that never succeeds is delivered three times, then goes to its tier; what cannot succeed is not tried again', () =>
    inScene(1, async (scene) => {
      const calls: string[] = []
      const handler = (record: KafkaRecord, { tier }: { readonly tier: number }): void => {
        const value = valueOf(record)
        calls.push(tier === 0 ? value : `${value} in tier ${tier}`)
        if (value === '1') throw new Error('never')
        if (value === '3') throw new NonRetryableError('never ever')
      }
      await scene.write(numbers(0, 5))
      await scene.start({ handler, retry: { ...once, ...quick } })
      await scene.until(async () => expect(await scene.deadLetters()).toBe(2))
      await scene.untilCommitted({ 0: 5n })
      expect(calls.filter((call) => !call.includes('tier'))).toEqual(['0', '1', '1', '1', '2', '3', '4'])
      expect(tally(calls)['1 in tier 1']).toBe(1)
    }))

  test.each(['DLQ_AND_CONTINUE', 'TIER_AND_CONTINUE'] as const)(
    'S0-093 C-77 with %s the batch goes on at once',
    (batchFailureStrategy) =>
      inScene(1, async (scene) => {
        const calls: string[] = []
        const tiers: number[] = []
        const handler = (record: KafkaRecord, { tier }: { readonly tier: number }): void => {
          calls.push(valueOf(record))
          tiers.push(tier)
          if (valueOf(record) === '1') throw new Error('never')
        }
        await scene.write(numbers(0, 4))
        await scene.start({ handler, batchFailureStrategy, retry: { ...once, ...quick } })
        await scene.until(async () => expect(await scene.deadLetters()).toBe(1))
        await scene.untilCommitted({ 0: 4n })
        expect(calls.slice(0, 4)).toEqual(numbers(0, 4))
        expect(tiers.slice(4)).toEqual(batchFailureStrategy === 'TIER_AND_CONTINUE' ? [1] : [])
      }),
  )

  test('C-77 a batch handler gets the records of a partition in order; what succeeded before a failure is not repeated', () =>
    inScene(2, async (scene) => {
      const handled: string[] = []
      const calls: string[][] = []
      let failures = 3
      const handleBatch = (records: readonly KafkaRecord[]): void => {
        const values = records.map(valueOf)
        expect(new Set(records.map(({ partition }) => partition)).size).toBe(1)
        calls.push(values)
        const at = values.indexOf('p0-12')
        if (at >= 0 && failures-- > 0) {
          handled.push(...values.slice(0, at))
          throw new BatchProcessingError(at, { cause: new Error('not yet') })
        }
        handled.push(...values)
      }
      for (const partition of [0, 1]) await scene.write(numbers(0, 30, `p${partition}-`), partition)
      await scene.start({ handler: { handleBatch }, retry: { tier0: { maxAttempts: 2 } } })
      await scene.untilCommitted({ 0: 30n, 1: 30n })
      for (const partition of [0, 1])
        expect(handled.filter((value) => value.startsWith(`p${partition}-`))).toEqual(numbers(0, 30, `p${partition}-`))
      const again = calls.filter((values) => values.includes('p0-12'))
      expect(again).toHaveLength(4)
      for (const values of again.slice(1)) expect(values[0]).toBe('p0-12')
    }))

  test('C-77 a batch handler that fails without saying where leaves all of the batch to the next attempt', () =>
    inScene(1, async (scene) => {
      let calls = 0
      const handled: string[] = []
      const handleBatch = async (records: readonly KafkaRecord[]): Promise<void> => {
        if (++calls <= 2) throw calls === 1 ? new Error('database gone') : new BatchProcessingError(records.length)
        handled.push(...records.map(valueOf))
      }
      await scene.write(numbers(0, 10))
      await scene.start({ handler: { handleBatch } })
      await scene.untilCommitted({ 0: 10n })
      expect(handled).toEqual(numbers(0, 10))
    }))

  test('L5 a clean stop in the middle of a batch repeats nothing', () =>
    inScene(1, async (scene) => {
      const handled: string[] = []
      const { timers } = scene.place.runtime
      const handler = async (record: KafkaRecord): Promise<void> => {
        await timers.sleep(5)
        handled.push(valueOf(record))
      }
      await scene.write(numbers(0, 40))
      const first = await scene.start({ handler })
      await scene.until(() => expect(handled.length).toBeGreaterThan(5))
      await first.stop()
      expect(handled.length).toBeLessThan(40)
      await scene.start({ handler })
      await scene.untilCommitted({ 0: 40n })
      expect(handled).toEqual(numbers(0, 40))
    }))
}
