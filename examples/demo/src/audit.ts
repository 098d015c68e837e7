/**
 * The final audit, by a reader that shares nothing with the shop: it counts rows in the database and records in the topics,
 * one by one.
 */

import { replayHeader } from '@waybill/core'
import { type KafkaClient, type KafkaRecord, requireAllDone } from '@waybill/kafka'
import type { ShopStore } from './store/shop-store.ts'

export interface Audit {
  /** Orders whose transaction committed: each has one event. */
  readonly written: number
  /** Orders on Kafka. */
  readonly published: number
  /** Orders shipped. */
  readonly handled: number
  /** Orders in the dead letter topic that were not shipped after a replay. */
  readonly dead: number
  /** Dead letters that were delivered again. */
  readonly replayed: number
  /** Always 0: a skipped order counts as lost. Duplicates that the inbox recognized do not count. */
  readonly skipped: number
  /** Orders shipped more than once. */
  readonly duplicates: number
  /** Second records of one event: the process died between the send and the update of its row. */
  readonly repeatedRecords: number
  /** Records and shipments without an order. */
  readonly phantoms: number
  /** Neither shipped nor dead. */
  readonly lost: number
}

/** Counts rows and records. */
export async function makeAudit<Tx>(shop: ShopStore<Tx>, kafka: KafkaClient, topic: string): Promise<Audit> {
  const orders = new Set(await shop.orderIds())
  const shipments = await shop.shipmentIds()
  const records = await readTopic(kafka, topic)
  const deadLetters = await readTopic(kafka, `${topic}.DLT`)
  const replays = records.filter(({ headers }) => headers.text(replayHeader.count) !== undefined)
  const [shipped, published] = [new Set(shipments), new Set(keysOf(records))]
  const dead = new Set(keysOf(deadLetters).filter((id) => !shipped.has(id)))
  const known = (ids: Iterable<string>): number => [...ids].filter((id) => orders.has(id)).length
  return {
    written: orders.size,
    published: known(published),
    handled: known(shipped),
    dead: known(dead),
    replayed: replays.length,
    skipped: 0,
    duplicates: shipments.length - shipped.size,
    repeatedRecords: records.length - replays.length - published.size,
    phantoms: published.size + shipped.size - known(published) - known(shipped),
    lost: [...orders].filter((id) => !shipped.has(id) && !dead.has(id)).length,
  }
}

/** Returns the number of records in the dead letter topic. */
export async function countDead(kafka: KafkaClient, topic: string): Promise<number> {
  return (await endsOf(kafka, `${topic}.DLT`)).reduce((sum, [, end]) => sum + Number(end), 0)
}

const keysOf = (records: readonly KafkaRecord[]): string[] => records.map(({ key }) => String(key))

/** Returns the partitions with their end offsets; none while the topic does not exist. */
async function endsOf(kafka: KafkaClient, topic: string): Promise<readonly (readonly [number, bigint])[]> {
  const [view] = await kafka.admin.describeTopics([topic])
  if (view?.outcome === 'FAILED' && view.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION') return []
  if (view?.outcome !== 'DONE') throw new Error(`${topic} cannot be read.`, { cause: view?.error })
  const partitions = view.partitions.map(({ partition }) => ({ topic, partition }))
  const ends = requireAllDone(`Reading the ends of ${topic}`, await kafka.admin.listOffsets(partitions, 'LATEST'))
  return ends.map(({ partition, offset }) => [partition, offset ?? 0n] as const)
}

/** Reads a topic up to its current end. */
async function readTopic(kafka: KafkaClient, topic: string): Promise<KafkaRecord[]> {
  const ends = await endsOf(kafka, topic)
  await using reader = kafka.reader(ends.map(([partition, until]) => ({ topic, partition, from: 0n, until })))
  const records: KafkaRecord[] = []
  for (let next = await reader.next(1_000); next !== undefined; next = await reader.next(1_000)) records.push(...next)
  return records
}
