import { Buffer } from 'node:buffer'
import { RecordHeaders, replayHeader } from '@waybill/core'
import {
  deadLetterHeader,
  originalHeader,
  retryHeader,
  tierAttemptsHeader,
  tierExceptionHeader,
  tierExhaustedAtHeader,
} from '@waybill/core/internal'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { deadLetterAssertions, tierAssertions, WaitDeadlineError } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'

const origin = [
  [originalHeader.topic, 'orders'],
  [originalHeader.partition, 3],
  [originalHeader.offset, 77],
  [originalHeader.timestamp, 1_234],
  [replayHeader.consumerGroup, 'billing'],
  [retryHeader.totalAttempts, 6],
  [retryHeader.tier, 1],
] as const
const deadLetter = RecordHeaders.from([
  ['id', '7'],
  ...origin,
  [deadLetterHeader.reason, 'RETRIES_EXHAUSTED'],
  [deadLetterHeader.exceptionClass, 'TypeError'],
  [deadLetterHeader.exceptionMessage, 'no such customer'],
  [tierExceptionHeader(0), 'TypeError'],
  [tierExhaustedAtHeader(0), 5_000],
  [tierAttemptsHeader(0), 3],
])
const retry = RecordHeaders.from([...origin, [retryHeader.attempt, 2], [retryHeader.timestamp, 9_000]])

function inSimulation(
  program: (kafka: KafkaClient, runtime: VirtualRuntime, sim: SimCluster) => Promise<void>,
): Promise<void> {
  const runtime = createVirtualRuntime(1)
  return runtime.run(async () => {
    const sim = createSimCluster({ runtime })
    sim.createTopic('orders.side', { partitions: 3 })
    await using kafka = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('test'), runtime })
    await program(kafka, runtime, sim)
  })
}

async function write(kafka: KafkaClient, key: string, headers: RecordHeaders): Promise<void> {
  await using producer = kafka.producer('EVENT')
  await producer.send({ topic: 'orders.side', key: Buffer.from(key), value: Buffer.from(`of ${key}`), headers })
}

describe('assertions about dead letters', () => {
  test('find one by content, headers and history', () =>
    inSimulation(async (kafka, runtime) => {
      await using deadLetters = deadLetterAssertions(kafka, 'orders.side', { runtime })
      await write(kafka, 'a', RecordHeaders.empty)
      await write(kafka, 'b', deadLetter)
      const found = await deadLetters.contains({
        key: 'b',
        value: Buffer.from('of b'),
        headers: { id: '7', absent: null },
        originalTopic: 'orders',
        originalPartition: 3,
        originalOffset: 77n,
        totalAttempts: 6,
        dltReason: 'RETRIES_EXHAUSTED',
        lastExceptionClass: 'TypeError',
        lastExceptionMessage: 'no such customer',
      })
      expect(found.tierHistory).toEqual([{ tier: 0, exceptionClass: 'TypeError', exhaustedAt: 5_000, attempts: 3 }])
    }))

  test('wait until so many are there, over all partitions, and see later ones too', () =>
    inSimulation(async (kafka, runtime) => {
      await using deadLetters = deadLetterAssertions(kafka, 'orders.side', { runtime })
      expect(await deadLetters.hasCount(0)).toEqual([])
      const waiting = deadLetters.hasCount(12)
      for (const key of 'abcdefghijkl') await write(kafka, key, deadLetter)
      const keys = (await waiting).map(({ key }) => String(key))
      expect(keys.toSorted().join('')).toBe('abcdefghijkl')
      expect(await deadLetters.all()).toHaveLength(12)
    }))

  test('fail at the deadline with what is there instead', () =>
    inSimulation(async (kafka, runtime) => {
      await using deadLetters = deadLetterAssertions(kafka, 'orders.side', { runtime, deadlineMs: 1_000 })
      await expect(deadLetters.contains({ key: 'a' })).rejects.toThrow('orders.side has no records.')
      await write(kafka, 'a', deadLetter)
      await write(kafka, 'b', RecordHeaders.empty)
      const wrong = deadLetters.contains({ key: 'a', totalAttempts: 9, headers: { id: '8' } })
      await expect(wrong).rejects.toThrow(WaitDeadlineError)
      await expect(wrong).rejects.toThrow(
        'The closest one has totalAttempts 6 instead of 9; header id "7" instead of "8".',
      )
      await expect(deadLetters.hasCount(1)).rejects.toThrow(/holds 2 records, not 1: "of [ab]", "of [ab]"/)
      await expect(deadLetters.contains({ value: null })).rejects.toThrow('value "of a" instead of null')
    }))

  test('count a record once, however long they wait for another', () =>
    inSimulation(async (kafka, runtime) => {
      const options = { runtime, deadlineMs: 1_800_000, everyMs: 1_000 }
      await using deadLetters = deadLetterAssertions(kafka, 'orders.side', options)
      await write(kafka, 'a', deadLetter)
      await expect(deadLetters.hasCount(2)).rejects.toThrow('orders.side holds 1 record, not 2')
    }))

  test('count a record once, however long the last read was ago', () =>
    inSimulation(async (kafka, runtime) => {
      await using deadLetters = deadLetterAssertions(kafka, 'orders.side', { runtime })
      await write(kafka, 'a', deadLetter)
      expect(await deadLetters.all()).toHaveLength(1)
      await runtime.timers.sleep(11 * 60_000)
      await write(kafka, 'b', deadLetter)
      const keys = (await deadLetters.all()).map(({ key }) => String(key))
      expect(keys.toSorted()).toEqual(['a', 'b'])
    }))

  test('join no group: who lists the groups of a cluster does not meet them', () =>
    inSimulation(async (kafka, runtime) => {
      await using deadLetters = deadLetterAssertions(kafka, 'orders.side', { runtime })
      await write(kafka, 'a', deadLetter)
      await deadLetters.hasCount(1)
      expect(await kafka.admin.listGroups()).toEqual([])
    }))

  test('keep what they have read when retention deletes it', () =>
    inSimulation(async (kafka, runtime, sim) => {
      await using deadLetters = deadLetterAssertions(kafka, 'orders.side', { runtime })
      await write(kafka, 'a', deadLetter)
      await write(kafka, 'a', deadLetter)
      await deadLetters.hasCount(2)
      for (const partition of [0, 1, 2]) {
        const { highWatermark } = sim.partition('orders.side', partition)
        sim.deleteRecords('orders.side', partition, highWatermark)
      }
      expect(await deadLetters.all()).toHaveLength(2)
      await using later = deadLetterAssertions(kafka, 'orders.side', { runtime })
      expect(await later.all()).toEqual([])
      await write(kafka, 'a', deadLetter)
      expect([(await deadLetters.all()).length, (await later.all()).length]).toEqual([3, 1])
    }))

  test('that are disposed of while they read tell the reader', () =>
    inSimulation(async (kafka, runtime, sim) => {
      const deadLetters = deadLetterAssertions(kafka, 'orders.side', { runtime })
      await write(kafka, 'a', deadLetter)
      sim.stall({ api: 'Fetch' })
      runtime.timers.schedule(1_000, () => void deadLetters[Symbol.asyncDispose]())
      await expect(deadLetters.all()).rejects.toThrow('closed')
      await expect(deadLetters.all()).rejects.toThrow('closed')
    }))

  test('wait for a topic that is not there yet', () =>
    inSimulation(async (kafka, runtime) => {
      await using deadLetters = deadLetterAssertions(kafka, 'orders.later', { runtime, deadlineMs: 60_000 })
      runtime.timers.schedule(5_000, () => {
        void kafka.admin.createTopics([{ topic: 'orders.later', partitions: 1, replication: 1 }])
      })
      expect(await deadLetters.hasCount(0)).toEqual([])
    }))
})

describe('assertions about a tier', () => {
  test('find a record by where it waits and where it came from', () =>
    inSimulation(async (kafka, runtime) => {
      await using tier = tierAssertions(kafka, 'orders.side', { runtime })
      await write(kafka, 'a', retry)
      const found = await tier.contains({
        key: 'a',
        tier: 1,
        attempt: 2,
        consumerGroup: 'billing',
        originalOffset: 77n,
      })
      expect(found).toMatchObject({ retryTimestamp: 9_000, totalAttempts: 6, originalTopic: 'orders' })
      expect(await tier.hasCount(1)).toHaveLength(1)
    }))

  test('read a record that no connector wrote without an error', () =>
    inSimulation(async (kafka, runtime) => {
      await using tier = tierAssertions(kafka, 'orders.side', { runtime })
      await write(kafka, 'a', RecordHeaders.empty)
      expect(await tier.hasCount(1)).toMatchObject([{ tier: 0, attempt: 0, originalOffset: -1n, consumerGroup: '' }])
    }))
})
