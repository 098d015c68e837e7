import { Buffer } from 'node:buffer'
import { ArgumentError, createMemoryLogger, RecordHeaders, runtimeWith } from '@waybill/core'
import { KafkaError, type KafkaRecord, type OutRecord } from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'
import { describe, expect, test } from 'vitest'
import type { DeadLetterSource } from '../../src/replay/dead-letter-source.ts'
import { type ReplayStep, runReplay } from '../../src/replay/replay-run.ts'

const recordAt = (value: string, partition: number, offset: bigint): KafkaRecord => ({
  topic: 'orders.DLT',
  partition,
  offset,
  timestamp: 1,
  epoch: 7,
  key: null,
  value: Buffer.from(value),
  headers: RecordHeaders.empty,
})

/** Runs a replay of two partitions of dead letters. */
function sceneOf(p0: readonly string[], p1: readonly string[] = []) {
  const letters = [
    ...p0.map((value, at) => recordAt(value, 0, BigInt(at))),
    ...p1.map((value, at) => recordAt(value, 1, BigInt(at))),
  ]
  const events: string[] = []
  const committed = new Map<number, bigint>()
  let next = 0
  const source: DeadLetterSource = {
    async next(max) {
      const batch = letters.slice(next, next + max)
      next += batch.length
      return batch.length === 0 ? undefined : batch
    },
    async settle(offsets: readonly OffsetCommit[]) {
      for (const { partition, offset } of offsets) {
        committed.set(partition, offset)
        events.push(`commit ${partition}@${offset}`)
      }
    },
    hold: ({ partition }) => void events.push(`hold ${partition}`),
    remaining: () => BigInt(letters.length) - [...committed.values()].reduce((sum, offset) => sum + offset, 0n),
    async [Symbol.asyncDispose]() {},
  }
  const run = (
    answer: (value: string, tries: number) => Error | undefined,
    options: {
      readonly limit?: number
      readonly batchSize?: number
      readonly decide?: (value: string) => ReplayStep | undefined
    } = {},
  ) => {
    const tries = new Map<string, number>()
    return runReplay({
      source,
      runtime: runtimeWith({ logger: createMemoryLogger() }),
      producer: {
        async send({ value }: OutRecord) {
          const text = String(value)
          tries.set(text, (tries.get(text) ?? 0) + 1)
          await Promise.resolve()
          const error = answer(text, tries.get(text) ?? 0)
          events.push(`${error === undefined ? 'sent' : 'failed'} ${text}`)
          if (error !== undefined) throw error
          return { partition: 0, offset: 0n }
        },
      },
      decide: async ({ record }) =>
        options.decide?.(String(record.value)) ?? { topic: 'orders', key: null, value: record.value },
      limit: options.limit ?? 100,
      batchSize: options.batchSize ?? 10,
      signal: new AbortController().signal,
      onProgress: ({ replayed }) => void events.push(`progress ${replayed}`),
    })
  }
  return { run, events, committed }
}

const fine = (): undefined => undefined

describe('a replay', () => {
  test('I11 commits a batch once all its copies are confirmed, and only then reads the next', async () => {
    const { run, events } = sceneOf(['a', 'b', 'c'])
    expect((await run(fine, { batchSize: 2 })).report).toEqual({ replayed: 3, skipped: {}, remaining: 0n })
    expect(events).toEqual(['sent a', 'sent b', 'commit 0@2', 'progress 2', 'sent c', 'commit 0@3', 'progress 3'])
  })

  test.each([
    ['UNKNOWN', new KafkaError('lost', 'UNKNOWN')],
    ['RETRIABLE', new KafkaError('away', 'RETRIABLE')],
  ])('D9 leaves the position before a copy that is not confirmed: %s', async (_, error) => {
    const { run, committed } = sceneOf(['a', 'b', 'c'], ['d', 'e'])
    const { report, failure } = await run((value) => (value === 'b' ? error : undefined))
    expect(failure).toBe(error)
    expect(Object.fromEntries(committed)).toEqual({ 0: 1n, 1: 2n })
    // Every confirmed copy counts, including those that the next run repeats.
    expect(report).toEqual({ replayed: 4, skipped: {}, remaining: 2n })
  })

  test('skips a copy that is rejected for its content, after it was rejected alone', async () => {
    const { run, events } = sceneOf(['large', 'fine'])
    const tooLarge = new KafkaError('too large', 'FATAL', { reason: 'MESSAGE_TOO_LARGE' })
    // A batch with the large copy rejects the other one too.
    const answer = (value: string, tries: number) => (value === 'large' || tries === 1 ? tooLarge : undefined)
    const { report, failure } = await run(answer)
    expect(failure).toBeUndefined()
    expect(report).toEqual({ replayed: 1, skipped: { REFUSED: 1 }, remaining: 0n })
    expect(events).toEqual(['failed large', 'failed fine', 'failed large', 'sent fine', 'commit 0@2', 'progress 1'])
  })

  test('skips a copy that the producer rejects as invalid', async () => {
    const { run } = sceneOf(['odd', 'fine'])
    const { report } = await run((value) => (value === 'odd' ? new ArgumentError('odd') : undefined))
    expect(report).toMatchObject({ replayed: 1, skipped: { REFUSED: 1 } })
  })

  test('writes no more copies than requested, however many it skips', async () => {
    const { run, committed } = sceneOf(['skip', 'a', 'b', 'c'])
    const { report } = await run(fine, { limit: 2, decide: (value) => (value === 'skip' ? 'MAX_REPLAYS' : undefined) })
    expect(report).toEqual({ replayed: 2, skipped: { MAX_REPLAYS: 1 }, remaining: 1n })
    expect(Object.fromEntries(committed)).toEqual({ 0: 3n })
  })

  test('leaves a dead letter that is not due, and those after it in its partition, for another run', async () => {
    const { run, events } = sceneOf(['a', 'young', 'c'], ['d'])
    const { report } = await run(fine, { decide: (value) => (value === 'young' ? 'NOT_NOW' : undefined) })
    expect(report).toEqual({ replayed: 2, skipped: {}, remaining: 2n })
    expect(events).toEqual(['sent a', 'hold 0', 'sent d', 'commit 0@1', 'commit 1@1', 'progress 2'])
  })

  test('ends with the error of a decision, and commits what was decided before it', async () => {
    const { run, committed } = sceneOf(['a', 'b'])
    const broken = new Error('no broker')
    const { failure } = await run(fine, {
      decide: (value) => {
        if (value === 'b') throw broken
        return undefined
      },
    })
    expect(failure).toBe(broken)
    expect(Object.fromEntries(committed)).toEqual({ 0: 1n })
  })
})
