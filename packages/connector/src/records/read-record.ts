import { type KafkaClient, KafkaError, type KafkaRecord } from '@waybill/kafka'
import { isMissing } from '@waybill/kafka/internal'
import type { RecordPosition } from './foreign-replay.ts'

/** Committed records of a partition that were read together. */
export interface RecordPage {
  readonly bytes: number
  /** Returns whether the page knows the record at an offset, or that there is none. */
  covers(offset: bigint): boolean
  /** Returns the record at an offset; undefined if there is none. */
  at(offset: bigint): KafkaRecord | undefined
}

const pageRecords = 500

/** Reads one committed record; undefined when it no longer exists. */
export async function readRecord(
  client: Pick<KafkaClient, 'reader'>,
  at: RecordPosition,
): Promise<KafkaRecord | undefined> {
  return (await readPage(client, at, at.offset + 1n)).at(at.offset)
}

/**
 * Reads the committed record at a position and those behind it that arrive with it, below `until`. The reader is closed
 * when the signal aborts, which rejects the call.
 */
export async function readPage(
  client: Pick<KafkaClient, 'reader'>,
  { topic, partition, offset: from }: RecordPosition,
  until: bigint,
  signal?: AbortSignal,
): Promise<RecordPage> {
  signal?.throwIfAborted()
  await using reader = client.reader([{ topic, partition, from, until }])
  const close = (): void => void reader.close()
  signal?.addEventListener('abort', close, { once: true })
  try {
    const records = await reader.next(pageRecords)
    return pageOf(records ?? [], from, records === undefined ? until : (records.at(-1) as KafkaRecord).offset + 1n)
  } catch (error) {
    // A deleted topic has no original. Any other failure may be temporary, and must not count as missing.
    if (error instanceof KafkaError && isMissing(error)) return pageOf([], from, from + 1n)
    throw error
  } finally {
    signal?.removeEventListener('abort', close)
  }
}

function pageOf(records: readonly KafkaRecord[], from: bigint, until: bigint): RecordPage {
  const byOffset = new Map(records.map((record) => [record.offset, record]))
  return {
    bytes: records.reduce((sum, { byteLength = 0 }) => sum + byteLength, 0),
    covers: (offset) => offset >= from && offset < until,
    at: (offset) => byOffset.get(offset),
  }
}
