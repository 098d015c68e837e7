import { deadLetterRecordOf } from '@waybill/connector'
import { RecordHeaders } from '@waybill/core'
import { deadLetterHeader } from '@waybill/core/internal'
import { type KafkaClient, type KafkaRecord, requireAllDone, type TopicPartition } from '@waybill/kafka'
import type { OffsetRange } from '@waybill/kafka/internal'
import type { ReadBudget } from './read-budget.ts'
import type { WaitingReading, WaitingRecord, WaitingSource } from './waiting-source.ts'

/** The topics in which records wait. */
export interface WaitingTopicsOptions {
  /** Source topics: their retry, waiting and dead letter topics with derived names are read. */
  readonly sources?: readonly string[] | undefined
  /** Further topics, such as ones with names of your own. @defaultValue none */
  readonly topics?: readonly string[] | undefined
  /**
   * Groups of the bindings. Records that all of them have handled are left out, and so are topics with another group in their
   * names.
   *
   * @defaultValue none: all records that the topics still have are read, handled or not
   */
  readonly groupIds?: readonly string[] | undefined
}

const derivedName = /^(.+)\.(?:retry-\d+|waiting|DLT)$/s
const recordsPerRead = 500

/** Reads what waits in retry, waiting and dead letter topics, outside of any group. Nothing is committed. */
export function waitingTopics(kafka: KafkaClient, options: WaitingTopicsOptions): WaitingSource {
  return {
    async read(budget, visit) {
      const topics = await findTopics(kafka, options)
      const readings: WaitingReading[] = []
      for (const [index, topic] of topics.entries())
        readings.push(await readTopic(kafka, topic, options.groupIds ?? [], budget, topics.length - index, visit))
      return readings
    },
  }
}

async function findTopics({ admin }: KafkaClient, options: WaitingTopicsOptions): Promise<readonly string[]> {
  const { sources = [], topics = [], groupIds = [] } = options
  const all = await admin.listTopics()
  const existing = new Set(all)
  const derived = all.filter((name) => sources.some((source) => isDerived(name, source, groupIds, existing)))
  return [...new Set([...derived, ...topics.filter((name) => existing.has(name))])].toSorted()
}

/** `orders.billing.DLT` belongs to the group billing of `orders`, unless there is a topic `orders.billing`. */
function isDerived(name: string, source: string, groupIds: readonly string[], existing: ReadonlySet<string>): boolean {
  const home = derivedName.exec(name)?.[1]
  if (home === source) return true
  if (home?.startsWith(`${source}.`) !== true) return false
  if (groupIds.length > 0) return groupIds.includes(home.slice(source.length + 1))
  const isNearer = (topic: string): boolean =>
    topic.startsWith(`${source}.`) && !derivedName.test(topic) && `${home}.`.startsWith(`${topic}.`)
  return ![...existing].some(isNearer)
}

async function readTopic(
  kafka: KafkaClient,
  topic: string,
  groupIds: readonly string[],
  budget: ReadBudget,
  topicsLeft: number,
  visit: (record: WaitingRecord) => Promise<void>,
): Promise<WaitingReading> {
  const waiting = await waitingRanges(kafka, topic, groupIds)
  const total = waiting.reduce((sum, { from, until }) => sum + Number(until - from), 0)
  // Each topic and partition gets its share, the oldest records first: a long one must not hide the others.
  const share = BigInt(Math.max(1, Math.ceil(budget.records / topicsLeft / Math.max(1, waiting.length))))
  const ranges = waiting.map((range) => ({
    ...range,
    until: range.until - range.from > share ? range.from + share : range.until,
  }))
  const progress = { read: 0, bytes: 0, withoutContent: 0, left: total - lengthOf(ranges) }
  let endedBy = progress.left > 0 ? 'maxRecords' : null
  if (ranges.length > 0 && budget.spent === null) {
    await using reader = kafka.reader(ranges)
    const seen = new Map<number, bigint>()
    for (;;) {
      const records = await reader.next(Math.min(recordsPerRead, Math.max(1, budget.records)))
      if (records === undefined) {
        for (const { partition, until } of ranges) seen.set(partition, until)
        break
      }
      for (const record of records) {
        await visitRecord(topic, record, budget, progress, visit)
        seen.set(record.partition, record.offset + 1n)
      }
      if (budget.spent !== null) break
    }
    for (const { partition, from, until } of ranges) progress.left += Number(until - (seen.get(partition) ?? from))
  } else progress.left = total
  if (progress.left > 0) endedBy ??= budget.spent ?? 'maxRecords'
  const { read, bytes, withoutContent, left } = progress
  return { name: `topic ${topic}`, read, bytes, unread: left, withoutContent, endedBy }
}

interface Progress {
  read: number
  bytes: number
  withoutContent: number
  left: number
}

async function visitRecord(
  topic: string,
  record: KafkaRecord,
  budget: ReadBudget,
  progress: Progress,
  visit: (record: WaitingRecord) => Promise<void>,
): Promise<void> {
  const bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0)
  budget.take(bytes)
  progress.read += 1
  progress.bytes += bytes
  const waiting = waitingRecordOf(topic, record, bytes)
  if (waiting === undefined) progress.withoutContent += 1
  else await visit(waiting)
}

/** Errors of consumers that could not read a record. */
const unreadable = /(?:^|\.)(?:SchemaViolation|Parse|UnknownEventType|Deserialization|CorruptBatch|OversizedBatch)\w*$/

/** Returns a record as its handler would get it; undefined for a placeholder without content. */
function waitingRecordOf(topic: string, record: KafkaRecord, bytes: number): WaitingRecord | undefined {
  const place = `${topic}-${record.partition}@${record.offset}`
  try {
    const headers = RecordHeaders.from(record.headers)
    if (headers.has(deadLetterHeader.batchBytes)) return undefined
    if (!headers.has(deadLetterHeader.reason) && !topic.endsWith('.DLT'))
      return { place, wire: { key: record.key, value: record.value, headers }, bytes, wasUnreadable: false }
    const dead = deadLetterRecordOf(record)
    const wire = { key: dead.key, value: dead.value, headers: dead.headers }
    return { place, wire, bytes, wasUnreadable: unreadable.test(dead.lastExceptionClass) }
  } catch (error) {
    return { place, wire: error as Error, bytes, wasUnreadable: false }
  }
}

/** Returns what the groups have not handled of each partition; all of it where one of them never committed. */
async function waitingRanges(
  { admin }: KafkaClient,
  topic: string,
  groupIds: readonly string[],
): Promise<readonly OffsetRange[]> {
  const [view] = requireAllDone(`Describing ${topic}`, await admin.describeTopics([topic]))
  const partitions = (view?.partitions ?? []).map((_, partition): TopicPartition => ({ topic, partition }))
  const starts = requireAllDone(`Finding the start of ${topic}`, await admin.listOffsets(partitions, 'EARLIEST'))
  const ends = requireAllDone(`Finding the end of ${topic}`, await admin.listOffsets(partitions, 'LATEST'))
  const positions = await Promise.all(groupIds.map((groupId) => positionsOf(admin, groupId, topic, partitions)))
  return partitions.flatMap(({ partition }): OffsetRange[] => {
    const start = starts.find((one) => one.partition === partition)?.offset ?? 0n
    const until = ends.find((one) => one.partition === partition)?.offset ?? 0n
    const committed = positions.map((position) => position.get(partition) ?? start)
    const lowest = committed.reduce((low, each) => (each < low ? each : low), committed[0] ?? start)
    // A position outside of the log belongs to a topic that was created again.
    const from = lowest < start || lowest > until ? start : lowest
    return from < until ? [{ topic, partition, from, until }] : []
  })
}

/** A binding reads each tier, and replays its dead letters, in a group of its own. */
async function positionsOf(
  admin: KafkaClient['admin'],
  groupId: string,
  topic: string,
  partitions: readonly TopicPartition[],
): Promise<ReadonlyMap<number, bigint>> {
  const suffix = topic.slice(topic.lastIndexOf('.') + 1)
  const names = [groupId, `${groupId}-${suffix}`, ...(suffix === 'DLT' ? [`${groupId}-dlt-replay`] : [])]
  const positions = new Map<number, bigint>()
  for (const name of names)
    for (const { partition, committed } of requireAllDone(
      `Reading the offsets of ${name}`,
      await admin.groupOffsets(name, partitions),
    ))
      if (committed !== null && committed > (positions.get(partition) ?? -1n)) positions.set(partition, committed)
  return positions
}

function lengthOf(ranges: readonly OffsetRange[]): number {
  return ranges.reduce((sum, { from, until }) => sum + Number(until - from), 0)
}
