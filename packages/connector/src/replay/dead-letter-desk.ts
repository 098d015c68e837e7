/**
 * The operations on the dead letters of one binding and topic, used by operators and by the schedule. They need the
 * cluster only: the binding need not run.
 */

import { type Runtime } from '@waybill/core'
import { createLabelLimit } from '@waybill/core/internal'
import type { KafkaClient, KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { OffsetRange } from '@waybill/kafka/internal'
import type {
  DeadLetterPlace,
  DeadLetterStats,
  PurgeReport,
  ReplayOptions,
  ReplayReport,
  ReplaySelection,
  ScanOptions,
} from '../api/dead-letter-admin.ts'
import type { StoredDeadLetter } from '../api/dead-letter-types.ts'
import { jsonSafe } from '../api/json-safe.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { type DeadLetterReading, readDeadLetter } from '../records/dead-letter-record.ts'
import { derivedProducerOptions } from '../records/derived-publisher.ts'
import { type PartitionLog, rangesFrom, readDeadLetterLog } from './dead-letter-log.ts'
import { type DeadLetterSource, RangeSource } from './dead-letter-source.ts'
import { GroupCounts } from './group-counts.ts'
import { GroupSource } from './group-source.ts'
import { addReports, noReport } from './merge-reports.ts'
import { withParkedParts } from './parked-parts.ts'
import { preparePlan } from './prepare-plan.ts'
import { ReplayInterruptedError } from './replay-errors.ts'
import { copyFor, isOf, objectionTo, type ReplayPlan, type ReplayRoute } from './replay-plan.ts'
import { type ReplayStep, runReplay } from './replay-run.ts'
import { deadAtOf, storedDeadLetter } from './stored-dead-letter.ts'

/** The dependencies of a desk. */
export interface DeskDeps {
  readonly binding: ResolvedBinding
  readonly client: KafkaClient
  readonly runtime: Runtime
}

/** The dead letters that a purge of one topic deletes. */
export interface PurgePlan {
  readonly topic: string
  readonly groupId: string
  readonly doomed: readonly (TopicPartition & { readonly before: bigint })[]
  readonly report: PurgeReport
}

/** Decides about each dead letter before the replay does. Undefined lets the replay continue with it. */
export type Screen = (letter: DeadLetterReading, record: KafkaRecord) => Promise<ReplayStep | undefined>

const recordsPerScan = 500
const never = new AbortController().signal

/** The parts of one replay. */
interface RunParts {
  readonly which: ReplaySelection & Omit<ReplayOptions, 'target'>
  readonly plan: ReplayPlan
  readonly signal: AbortSignal
  readonly screen: Screen
}

/** Replays, purges, counts and lists the dead letters of one topic. */
export class DeadLetterDesk {
  readonly #deps: DeskDeps

  constructor(deps: DeskDeps) {
    this.#deps = deps
  }

  /** @throws ReplayInterruptedError with the report of what was done until then. */
  async replay(
    which: ReplaySelection & Omit<ReplayOptions, 'target'>,
    route: ReplayRoute,
    screen?: Screen,
  ): Promise<ReplayReport> {
    const { binding, client } = this.#deps
    const { topic, replay } = binding.deadLetter
    const log = await this.#readLog()
    const signal = which.signal ?? never
    const plan = await preparePlan(client, binding, route, which.maxReplays ?? replay.maxReplays)
    const { report, failure } = await this.#run(log, { which, plan, signal, screen: screen ?? screenFor(which) })
    if (failure !== undefined) throw new ReplayInterruptedError(topic, report, failure)
    // Counting reads the topic up to the position. A window reads what it selects, the schedule would count in every run,
    // and a replay that found enough has nothing to explain.
    if (screen !== undefined || 'from' in which || report.replayed >= which.count) return report
    return addReports(report, await this.#exhaustedBefore(log, plan, signal))
  }

  /** Returns the number of offsets that no replay has processed. */
  async notReplayed(): Promise<bigint> {
    return notReplayedOf(await this.#readLog())
  }

  /** Finds the dead letters that a purge by age deletes. Later ones are not among them. */
  async planPurge(olderThanMs: number, options: ScanOptions): Promise<PurgePlan> {
    const { binding, client, runtime } = this.#deps
    const log = await this.#readLog()
    // An age greater than the current time keeps everything.
    const kept = await rangesFrom(client.admin, log, Math.max(0, runtime.clock.now() - olderThanMs))
    const doomed = log.flatMap((of, at) => {
      const before = kept[at]?.from ?? of.start
      return before > of.start ? [{ ...of, before }] : []
    })
    const groups = new GroupCounts()
    const ranges = doomed.map(({ topic, partition, start, before }) => ({
      topic,
      partition,
      from: start,
      until: before,
    }))
    for await (const record of this.#scan(ranges, options)) groups.add(readDeadLetter(record).consumerGroup)
    const report = jsonSafe({
      purged: doomed.reduce((sum, { before, start }) => sum + before - start, 0n),
      notReplayed: doomed.reduce((sum, { before, position }) => sum + (before > position ? before - position : 0n), 0n),
      byGroup: groups.list(),
      ranges,
    })
    return { topic: binding.deadLetter.topic, groupId: binding.groupId, doomed, report }
  }

  async purge({ doomed }: PurgePlan): Promise<void> {
    if (doomed.length > 0) await this.#deps.client.admin.deleteRecords(doomed)
  }

  async stats(options: ScanOptions = {}): Promise<DeadLetterStats> {
    const { binding } = this.#deps
    const log = await this.#readLog()
    const classOf = createLabelLimit()
    // Any program names its errors: as keys of an object, `constructor` and `__proto__` are there before they are counted.
    const byException = new Map<string, number>()
    let [count, others] = [0, 0]
    let oldest: DeadLetterPlace | undefined
    let newest: DeadLetterPlace | undefined
    for await (const record of this.#scan(wholeOf(log), options)) {
      const letter = readDeadLetter(record)
      if (!isOf(letter, binding)) {
        others++
        continue
      }
      count++
      const place = placeOf(letter, record)
      const name = classOf(place.lastExceptionClass || 'unknown')
      byException.set(name, (byException.get(name) ?? 0) + 1)
      if (oldest === undefined || place.deadAtMs < oldest.deadAtMs) oldest = place
      if (newest === undefined || place.deadAtMs >= newest.deadAtMs) newest = place
    }
    const { topic } = binding.deadLetter
    const notReplayed = notReplayedOf(log)
    return jsonSafe({
      topics: [topic],
      count,
      others,
      oldest,
      newest,
      byException: Object.fromEntries(byException),
      notReplayed,
    })
  }

  async *list(
    options: ScanOptions & { readonly from?: number; readonly to?: number } = {},
  ): AsyncGenerator<StoredDeadLetter> {
    const { from, to = Number.POSITIVE_INFINITY } = options
    const log = await this.#readLog()
    const ranges = from === undefined ? wholeOf(log) : await rangesFrom(this.#deps.client.admin, log, from)
    for await (const record of this.#scan(ranges, options)) {
      const letter = readDeadLetter(record)
      if (record.timestamp >= to || record.timestamp < (from ?? 0) || !isOf(letter, this.#deps.binding)) continue
      yield storedDeadLetter(letter, record)
    }
  }

  /** Runs a replay, and leaves the replay group before it returns: a member that does not poll blocks other replays. */
  async #run(log: readonly PartitionLog[], { which, plan, signal, screen }: RunParts): ReturnType<typeof runReplay> {
    const { binding, client, runtime } = this.#deps
    const { replay } = binding.deadLetter
    await using source = await this.#open(which, log, signal)
    await using producer = client.producer('DEAD_LETTER', derivedProducerOptions)
    return await runReplay({
      source,
      producer,
      runtime,
      decide: async (letter, record) => {
        const objection = (await screen(letter, record)) ?? objectionTo(letter, plan)
        if (objection !== undefined) return objection
        const whole = plan.route.kind === 'RELEASE' ? letter : await withParkedParts(letter, client)
        return whole === undefined ? 'PARKED_PART_GONE' : copyFor(whole, plan, runtime.clock.now())
      },
      limit: which.count ?? Number.POSITIVE_INFINITY,
      batchSize: replay.batchSize,
      signal,
      onProgress: which.onProgress ?? (() => {}),
    })
  }

  /**
   * Reports the dead letters before the position that {@link ReplayPlan.maxReplays} excludes: the replay that passed them
   * counted them once, and they are still in the topic. Reads everything before the position. Never rejects: the copies
   * are written by now, and a missing count must not hide that.
   */
  async #exhaustedBefore(log: readonly PartitionLog[], plan: ReplayPlan, signal: AbortSignal): Promise<ReplayReport> {
    const { binding, client, runtime } = this.#deps
    const ranges = log
      .filter(({ start, position }) => position > start)
      .map(({ topic, partition, start, position }) => ({ topic, partition, from: start, until: position }))
    if (ranges.length === 0 || plan.route.kind === 'RELEASE') return noReport
    let exhausted = 0
    try {
      await using reader = client.reader(ranges)
      for (let records = await reader.next(recordsPerScan); records !== undefined; ) {
        exhausted += records.filter((one) => objectionTo(readDeadLetter(one), plan) === 'MAX_REPLAYS').length
        records = signal.aborted ? undefined : await reader.next(recordsPerScan)
      }
    } catch (err) {
      const { topic } = binding.deadLetter
      runtime.logger.warn({ err, binding: binding.name, topic }, 'Dead letters at maxReplays not counted')
    }
    return exhausted === 0 ? noReport : { ...noReport, skipped: { MAX_REPLAYS: exhausted } }
  }

  async #open(which: ReplaySelection, log: readonly PartitionLog[], signal: AbortSignal): Promise<DeadLetterSource> {
    const { binding, client, runtime } = this.#deps
    const { topic, replay } = binding.deadLetter
    if ('from' in which) return new RangeSource(client, await rangesFrom(client.admin, log, which.from))
    // Joining a group takes seconds: skip it when there is nothing to replay.
    if (notReplayedOf(log) === 0n) return new RangeSource(client, [])
    return GroupSource.open({ client, runtime, groupId: replay.groupId, topic, log, signal })
  }

  async *#scan(ranges: readonly OffsetRange[], options: ScanOptions): AsyncGenerator<KafkaRecord> {
    const { client } = this.#deps
    const of = ranges.reduce((sum, { from, until }) => sum + until - from, 0n)
    await using reader = client.reader(ranges)
    let read = 0
    for (;;) {
      options.signal?.throwIfAborted()
      const records = await reader.next(recordsPerScan)
      if (records === undefined) return
      read += records.length
      yield* records
      options.onProgress?.(jsonSafe({ read, of }))
    }
  }

  #readLog(): Promise<readonly PartitionLog[]> {
    const { topic, replay } = this.#deps.binding.deadLetter
    return readDeadLetterLog(this.#deps.client.admin, topic, replay.groupId)
  }
}

/**
 * Selects the dead letters of a time window by their timestamps: a log is ordered by offset, and only nearly by time.
 */
function screenFor(which: ReplaySelection): Screen {
  if (!('from' in which)) return () => Promise.resolve(undefined)
  const { from, to } = which
  return (_, { timestamp }) => Promise.resolve(timestamp >= from && timestamp < to ? undefined : 'NOT_SELECTED')
}

function wholeOf(log: readonly PartitionLog[]): readonly OffsetRange[] {
  return log.map(({ topic, partition, start, end }) => ({ topic, partition, from: start, until: end }))
}

function notReplayedOf(log: readonly PartitionLog[]): bigint {
  return log.reduce((sum, { position, end }) => sum + end - position, 0n)
}

function placeOf(letter: DeadLetterReading, record: KafkaRecord): DeadLetterPlace {
  const { topic, partition, offset } = record
  const { originalTopic, originalPartition, originalOffset, lastExceptionClass } = letter.record
  const deadAtMs = deadAtOf(letter, record)
  return { topic, partition, offset, deadAtMs, originalTopic, originalPartition, originalOffset, lastExceptionClass }
}
