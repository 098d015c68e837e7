/** The operations on dead letters that are named by their places: ranges, replays in steps, one letter. */

import type { Runtime } from '@waybill/core'
import type { KafkaClient } from '@waybill/kafka'
import type { OffsetRange } from '@waybill/kafka/internal'
import type { ReplayReport } from '../api/dead-letter-admin.ts'
import type {
  DeadLetterPosition,
  DeadLetterReplay,
  DeadLetterSelection,
  SelectedReplayOptions,
} from '../api/dead-letter-selection.ts'
import type { ReplaySkip, StoredDeadLetter } from '../api/dead-letter-types.ts'
import { jsonSafe } from '../api/json-safe.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { readDeadLetter } from '../records/dead-letter-record.ts'
import { readRecord } from '../records/read-record.ts'
import { type PartitionLog, rangesFrom, readDeadLetterLog } from './dead-letter-log.ts'
import { preparePlan } from './prepare-plan.ts'
import { ReplayInterruptedError } from './replay-errors.ts'
import { isOf, type ReplayPlan, type ReplayRoute, routeOfRelease, routeTo, routeToTier } from './replay-plan.ts'
import { SelectedReplay } from './selected-replay.ts'
import { storedDeadLetter } from './stored-dead-letter.ts'
import { rangesOf } from './unread-ranges.ts'

/** A binding, once for each topic it reads, and its cluster. */
export interface SelectedFrom {
  readonly parts: readonly ResolvedBinding[]
  readonly client: KafkaClient
}

/** Returns the offsets that the dead letter topics hold now, from the first record at or after a time. */
export async function rangesNow({ parts, client }: SelectedFrom, fromMs?: number): Promise<readonly OffsetRange[]> {
  const logs = await logsOf({ parts, client })
  if (fromMs !== undefined) return rangesFrom(client.admin, logs, fromMs)
  return logs.map(({ topic, partition, start, end }) => ({ topic, partition, from: start, until: end }))
}

/** Opens a replay in steps. @throws ArgumentError if the binding does not have the target */
export async function openSelectedReplay(
  { parts, client }: SelectedFrom,
  runtime: Runtime,
  selection: DeadLetterSelection,
  options: SelectedReplayOptions,
): Promise<DeadLetterReplay> {
  const routed = parts.map((part) => ({ part, route: routeOf(part, options.to) }))
  const plans = new Map<string, ReplayPlan[]>()
  for (const { part, route } of routed) {
    const { topic, replay } = part.deadLetter
    const plan = await preparePlan(client, part, route, options.maxReplays ?? replay.maxReplays)
    const { operation, editedBy } = options
    plans.set(topic, [...(plans.get(topic) ?? []), { ...plan, operation, editedBy }])
  }
  return new SelectedReplay({ client, runtime, plans, selection, options })
}

/** Replays single dead letters. @throws ReplayInterruptedError with the report of what was done until then */
export async function replayPositions(
  from: SelectedFrom,
  runtime: Runtime,
  positions: readonly DeadLetterPosition[],
  options: SelectedReplayOptions,
): Promise<ReplayReport> {
  const topics = [...new Set(positions.map(({ topic }) => topic))].join(', ')
  const skipped = new Map<ReplaySkip, number>()
  let replayed = 0
  let left = positions.length
  const report = (): ReplayReport =>
    jsonSafe({ replayed, skipped: Object.fromEntries(skipped), remaining: BigInt(left) })
  await using replay = await openSelectedReplay(from, runtime, { ranges: rangesOf(positions) }, options)
  try {
    for (let batch = await replay.next(100); batch !== undefined; batch = await replay.next(100)) {
      const result = await replay.send(batch)
      replayed += result.sent.length
      for (const { reason } of [...batch.refused, ...result.refused])
        skipped.set(reason as ReplaySkip, (skipped.get(reason as ReplaySkip) ?? 0) + 1)
      left -= batch.scanned - result.unsent.length - result.unknown.length
      if (result.failure !== undefined) throw result.failure
    }
  } catch (error) {
    throw new ReplayInterruptedError(topics, report(), error)
  }
  left = 0
  return report()
}

/** Returns the dead letter at a position; undefined if there is none, or if it is not the binding's. */
export async function deadLetterAt(
  { parts, client }: SelectedFrom,
  { topic, partition, offset }: DeadLetterPosition,
): Promise<StoredDeadLetter | undefined> {
  const logs = await logsOf({ parts: parts.filter(({ deadLetter }) => deadLetter.topic === topic), client })
  const log = logs.find((one) => one.partition === partition)
  if (log === undefined || offset < log.start || offset >= log.end) return undefined
  const record = await readRecord(client, { topic, partition, offset })
  if (record === undefined) return undefined
  const letter = readDeadLetter(record)
  return parts.some((part) => isOf(letter, part)) ? storedDeadLetter(letter, record) : undefined
}

/** Deletes the offsets of frozen ranges from the start of their partitions. Returns the number deleted by this call. */
export async function purgeRanges({ parts, client }: SelectedFrom, ranges: readonly OffsetRange[]): Promise<bigint> {
  const logs = await logsOf({ parts, client })
  const doomed = ranges.flatMap(({ topic, partition, until }) => {
    const log = logs.find((one) => one.topic === topic && one.partition === partition)
    if (log === undefined) return []
    const before = until < log.end ? until : log.end
    return before > log.start ? [{ topic, partition, before, start: log.start }] : []
  })
  if (doomed.length > 0) await client.admin.deleteRecords(doomed)
  return doomed.reduce((sum, { before, start }) => sum + before - start, 0n)
}

/** Reads each dead letter topic once: topics of a binding may share one. */
async function logsOf({ parts, client }: SelectedFrom): Promise<readonly PartitionLog[]> {
  const groups = new Map(parts.map(({ deadLetter: { topic, replay } }) => [topic, replay.groupId]))
  const logs = await Promise.all(
    Array.from(groups, ([topic, groupId]) => readDeadLetterLog(client.admin, topic, groupId)),
  )
  return logs.flat()
}

function routeOf(part: ResolvedBinding, to: SelectedReplayOptions['to']): ReplayRoute {
  if (to === 'RELEASE') return routeOfRelease(part)
  return typeof to === 'object' ? routeToTier(part, to.tier) : routeTo(part, to)
}
