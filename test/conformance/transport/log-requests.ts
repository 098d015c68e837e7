/** Requests that write to a partition and read from it: errors by name, records as text. */

import { Buffer } from 'node:buffer'
import {
  type BatchInput,
  type BatchProducer,
  type Compression,
  encodeBatch,
  errorName,
  type FetchResponsePartition,
  type RequestOf,
  type ResponseOf,
  readBatches,
} from '@waybill/kafka/wire'
import { onlyOne } from '@waybill/testkit/internal'
import type { MadeTopic, WireClient } from './wire-client.ts'

/** The name of a Kafka error, or its number if the table does not have it. */
export type ErrorText = ReturnType<typeof errorName>

/** Fields of a Produce request beside its records. */
export interface ProduceOptions {
  readonly partition?: number
  readonly transactionalId?: string | null
}

/** The outcome of a batch. */
export type Produced = ResponseOf<'Produce'>['topics'][number]['partitions'][number] & { readonly error: ErrorText }

const origin = { topic: '', partition: 0, epoch: 0 }

/** Returns a text record with the current time: a record much older than its neighbors would start a new segment. */
export function textRecord(wire: WireClient, value: string, key: string | null = null): BatchInput {
  const timestamp = wire.runtime.clock.now()
  return { key: key === null ? null : Buffer.from(key), value: Buffer.from(value), headers: [], timestamp }
}

/** Returns a batch of text records. */
export function textBatch(
  wire: WireClient,
  values: readonly string[],
  producer?: BatchProducer,
  compression: Compression = 'NONE',
): Buffer {
  const records = values.map((value) => textRecord(wire, value))
  return encodeBatch(records, compression, producer)
}

/** Writes a batch. */
export async function produceBatch(
  wire: WireClient,
  { name }: Pick<MadeTopic, 'name'>,
  batch: Buffer,
  { partition = 0, transactionalId = null }: ProduceOptions = {},
): Promise<Produced> {
  const partitions = [{ partitionIndex: partition, records: [batch] }]
  const answer = await wire.send('Produce', { transactionalId, timeoutMs: 5_000, topics: [{ name, partitions }] })
  const produced = onlyOne(answer.topics[0]?.partitions)
  return { ...produced, error: errorName(produced.errorCode) }
}

/** Writes a batch of text records without a producer id. */
export function produce(
  wire: WireClient,
  topic: Pick<MadeTopic, 'name'>,
  values: readonly string[],
  options: ProduceOptions = {},
): Promise<Produced> {
  return produceBatch(wire, topic, textBatch(wire, values), options)
}

/** Fields of a Fetch request beside its offset. */
export interface FetchOptions {
  readonly partition?: number
  readonly isolationLevel?: RequestOf<'Fetch'>['isolationLevel']
  readonly maxWaitMs?: number
  readonly maxBytes?: number
  readonly partitionMaxBytes?: number
  readonly currentLeaderEpoch?: number
  readonly lastFetchedEpoch?: number
}

/** The fetched data of a partition. */
export interface Fetched extends FetchResponsePartition {
  readonly error: ErrorText
  /** Each complete batch as texts with their offsets, `3:text`; a marker as `4:COMMIT`. */
  readonly batches: readonly (readonly string[])[]
  /** The same without batch boundaries. */
  readonly texts: readonly string[]
}

/** Returns a Fetch request for one partition. */
export function fetchRequest(
  { id }: Pick<MadeTopic, 'id'>,
  fetchOffset: bigint,
  options: FetchOptions = {},
): RequestOf<'Fetch'> {
  const partition = {
    partition: options.partition ?? 0,
    currentLeaderEpoch: options.currentLeaderEpoch ?? -1,
    fetchOffset,
    lastFetchedEpoch: options.lastFetchedEpoch,
    partitionMaxBytes: options.partitionMaxBytes ?? 10_000_000,
  }
  return {
    maxWaitMs: options.maxWaitMs ?? 0,
    minBytes: 1,
    maxBytes: options.maxBytes ?? 10_000_000,
    isolationLevel: options.isolationLevel ?? 'READ_UNCOMMITTED',
    sessionId: 0,
    sessionEpoch: -1,
    topics: [{ topicId: id, partitions: [partition] }],
    forgottenTopics: [],
  }
}

/** Fetches a partition from an offset. */
export async function fetch(
  wire: WireClient,
  topic: Pick<MadeTopic, 'id'>,
  fetchOffset: bigint,
  options: FetchOptions = {},
): Promise<Fetched> {
  const answer = await wire.send('Fetch', fetchRequest(topic, fetchOffset, options))
  return readFetched(onlyOne(answer.topics[0]?.partitions))
}

/** Converts the response for one partition. */
export function readFetched(partition: FetchResponsePartition): Fetched {
  const batches = [...readBatches(partition.records)].map((batch) => {
    batch.verify()
    if (batch.isControl) return [`${batch.baseOffset}:${batch.controlKind()}`]
    return batch.records(origin, 0n).map(({ offset, value }) => `${offset}:${String(value)}`)
  })
  return { ...partition, error: errorName(partition.errorCode), batches, texts: batches.flat() }
}

/** Deletes the records of a partition below an offset. */
export async function deleteRecords(
  wire: WireClient,
  { name }: Pick<MadeTopic, 'name'>,
  offset: bigint,
): Promise<{ error: ErrorText; lowWatermark: bigint }> {
  const topics = [{ name, partitions: [{ partitionIndex: 0, offset }] }]
  const answer = await wire.send('DeleteRecords', { topics, timeoutMs: 5_000 })
  const { errorCode, lowWatermark } = onlyOne(answer.topics[0]?.partitions)
  return { error: errorName(errorCode), lowWatermark }
}
