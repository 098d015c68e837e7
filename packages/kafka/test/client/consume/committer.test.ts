import { errorCode } from '@waybill/kafka/wire'
import { RequestLog } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { OffsetCommit } from '../../../src/client/cluster/offset-commit.ts'
import { CommitError } from '../../../src/client/consume/commit-error.ts'
import type { Consumer } from '../../../src/client/consume/consumer.ts'
import { type SimRun, simRun } from './sim-run.ts'

const partitions = 3

/** Runs with a consumer that owns three partitions of `t`. */
function owner(
  program: (
    run: SimRun & { consumer: Consumer; log: RequestLog; offset: (partition: number, offset: bigint) => OffsetCommit },
  ) => Promise<void>,
  options: { brokers?: number } = {},
): Promise<void> {
  const log = new RequestLog()
  return simRun(
    async (run) => {
      run.sim.createTopic('t', { partitions })
      const consumer = run.cluster.consumer({ groupId: 'g', topics: ['t'], requestTimeoutMs: 5_000 })
      await consumer.start()
      await run.owning(consumer, partitions)
      const { epoch = 0 } = consumer.assignment()[0] ?? {}
      const offset = (partition: number, at: bigint): OffsetCommit => ({ topic: 't', partition, epoch, offset: at })
      await program({ ...run, consumer, log, offset })
    },
    { ...options, intercept: log.watch },
  )
}

/** The sent offsets, as `partition:offset` per request. */
const sent = (log: RequestLog): string[][] =>
  log
    .of('OffsetCommit')
    .map(({ topics }) =>
      topics.flatMap((topic) =>
        topic.partitions.map(({ partitionIndex, committedOffset }) => `${partitionIndex}:${committedOffset}`),
      ),
    )

const failure = (committing: Promise<void>): Promise<unknown> =>
  committing.then(
    () => 'committed',
    (error: unknown) => error,
  )

describe('a committer', () => {
  test('sends what waits in one request: of several for a partition the last', () =>
    owner(async ({ sim, consumer, log, offset, sleep }) => {
      const stall = sim.stall({ api: 'OffsetCommit' })
      const first = consumer.commit([offset(0, 1n)])
      await sleep(100)
      const all = [
        first,
        consumer.commit([offset(0, 2n), offset(1, 1n)]),
        consumer.commit([offset(0, 3n)]),
        consumer.commit([offset(2, 9n)]),
      ]
      stall[Symbol.dispose]()
      await Promise.all(all)
      expect(sent(log)).toEqual([['0:1'], ['0:3', '1:1', '2:9']])
      expect(new Map(sim.group('g').offsets.map(({ partition, offset: at }) => [partition, at]))).toEqual(
        new Map([
          [0, 3n],
          [1, 1n],
          [2, 9n],
        ]),
      )
    }))

  test('does not let a repeated commit overtake a later one', () =>
    owner(async ({ sim, consumer, log, offset, sleep }) => {
      sim.failNext('OffsetCommit', errorCode.COORDINATOR_LOAD_IN_PROGRESS)
      const first = consumer.commit([offset(0, 1n)])
      await sleep(5)
      const second = consumer.commit([offset(0, 2n)])
      await Promise.all([first, second])
      expect(sent(log)).toEqual([['0:1'], ['0:2']])
    }))

  test.each(['NOT_COORDINATOR', 'COORDINATOR_NOT_AVAILABLE', 'COORDINATOR_LOAD_IN_PROGRESS'] as const)(
    'repeats what is answered with %s',
    (name) =>
      owner(async ({ sim, consumer, log, offset }) => {
        sim.failNext('OffsetCommit', errorCode[name])
        await consumer.commit([offset(0, 1n)])
        expect(sent(log)).toEqual([['0:1'], ['0:1']])
      }),
  )

  test('finds the coordinator again when it has moved', () =>
    owner(
      async ({ sim, consumer, offset }) => {
        for (const [index, node] of [2, 3, 1].entries()) {
          sim.moveCoordinator('GROUP', 'g', node)
          await consumer.commit([offset(0, BigInt(index + 1))])
        }
        expect(sim.group('g').offsets.map(({ offset: at }) => at)).toEqual([3n])
      },
      { brokers: 3 },
    ))

  test('says that a commit is unknown when its answer is lost, and does not send it again', () =>
    owner(async ({ sim, consumer, log, offset }) => {
      const drop = sim.dropResponses({ api: 'OffsetCommit' })
      expect(await failure(consumer.commit([offset(0, 1n)]))).toMatchObject({ kind: 'UNKNOWN' })
      drop[Symbol.dispose]()
      expect(sent(log)).toEqual([['0:1']])
      expect(sim.group('g').offsets.map(({ offset: at }) => at)).toEqual([1n])
      await consumer.commit([offset(0, 2n)])
    }))

  test.each([
    ['COORDINATOR_LOAD_IN_PROGRESS', 'RETRIABLE'],
    ['COORDINATOR_NOT_AVAILABLE', 'UNKNOWN'],
  ] as const)('ends at its deadline when the coordinator answers %s all the time: %s', (name, kind) =>
    owner(async ({ sim, consumer, runtime, offset }) => {
      for (let count = 0; count < 100; count++) sim.failNext('OffsetCommit', errorCode[name])
      const startedAt = runtime.clock.monotonic()
      expect(await failure(consumer.commit([offset(0, 1n)]))).toMatchObject({ kind })
      expect(runtime.clock.monotonic() - startedAt).toBeLessThan(7_000)
    }),
  )

  test('never sends a commit under a later generation than it was made in', () =>
    owner(async ({ sim, consumer, log, offset, sleep }) => {
      const before = consumer.groupMetadata().generationId
      for (let count = 0; count < 3; count++) sim.failNext('OffsetCommit', errorCode.COORDINATOR_LOAD_IN_PROGRESS)
      const stall = sim.stall({ api: 'OffsetCommit' })
      const committing = failure(consumer.commit([offset(0, 1n)]))
      sim.rebalance('g')
      await sleep(2_000)
      expect(consumer.groupMetadata().generationId).toBe(before + 1)
      stall[Symbol.dispose]()
      expect(await committing).toMatchObject({ kind: 'REBALANCING' })
      expect(log.of('OffsetCommit').every(({ generationId }) => generationId === before)).toBe(true)
      expect(sim.group('g').offsets).toEqual([])
      // The partition stayed ours: its user commits again, and that is another commit.
      await consumer.commit([offset(0, 1n)])
    }))

  test('checks ownership when the request is written, not when it is asked for', () =>
    owner(async ({ sim, consumer, log, offset, sleep }) => {
      const stall = sim.stall({ api: 'OffsetCommit' })
      const first = failure(consumer.commit([offset(0, 1n)]))
      await sleep(100)
      const waiting = failure(consumer.commit([offset(1, 1n)]))
      sim.expireMember('g', sim.group('g').members[0]?.memberId ?? '')
      await sleep(1_000)
      stall[Symbol.dispose]()
      expect(await first).toMatchObject({ kind: 'REBALANCING' })
      expect(await waiting).toMatchObject({ kind: 'REBALANCING' })
      expect(sent(log)).toEqual([['0:1']])
    }))

  test('reports the outcome of each partition', () =>
    owner(async ({ sim, consumer, offset }) => {
      const stale = { ...offset(1, 4n), epoch: 0 }
      const tooLarge = { ...offset(2, 5n), metadata: 'x'.repeat(5_000) }
      const error = await failure(consumer.commit([offset(0, 3n), stale, tooLarge]))
      expect(error).toBeInstanceOf(CommitError)
      expect(
        new Map((error as CommitError).outcomes.map(({ offset: { partition }, kind }) => [partition, kind])),
      ).toEqual(
        new Map([
          [0, 'COMMITTED'],
          [1, 'REBALANCING'],
          [2, 'FATAL'],
        ]),
      )
      expect(error).toMatchObject({ kind: 'FATAL', reason: 'OFFSET_METADATA_TOO_LARGE' })
      expect((error as CommitError).message).toContain('t-2: OFFSET_METADATA_TOO_LARGE')
      expect(sim.group('g').offsets.map(({ partition }) => partition)).toEqual([0])
    }))

  test('accepts an empty list without a request', () =>
    owner(async ({ consumer, log }) => {
      await consumer.commit([])
      expect(sent(log)).toEqual([])
    }))

  test('times out while waiting for committed offsets', () =>
    owner(async ({ sim, consumer, runtime }) => {
      const stall = sim.stall({ api: 'OffsetFetch' })
      const startedAt = runtime.clock.monotonic()
      await expect(consumer.committed([{ topic: 't', partition: 0 }])).rejects.toMatchObject({ name: 'KafkaError' })
      expect(runtime.clock.monotonic() - startedAt).toBeLessThan(7_000)
      stall[Symbol.dispose]()
      expect(await consumer.committed([])).toEqual([])
    }))
})
