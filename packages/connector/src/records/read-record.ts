import { type KafkaClient, KafkaError, type KafkaRecord } from '@waybill/kafka'
import { isMissing } from '@waybill/kafka/internal'
import type { RecordPosition } from './foreign-replay.ts'

/** Reads one committed record; undefined when it no longer exists. */
export type ReadRecord = (at: RecordPosition, signal: AbortSignal) => Promise<KafkaRecord | undefined>

/**
 * Reads one committed record; undefined when it no longer exists. The reader is closed when the signal aborts, which
 * rejects the call.
 */
export async function readRecord(
  client: Pick<KafkaClient, 'reader'>,
  { topic, partition, offset: from }: RecordPosition,
  signal?: AbortSignal,
): Promise<KafkaRecord | undefined> {
  signal?.throwIfAborted()
  await using reader = client.reader([{ topic, partition, from, until: from + 1n }])
  const close = (): void => void reader.close()
  signal?.addEventListener('abort', close, { once: true })
  try {
    const [found] = (await reader.next(1)) ?? []
    return found
  } catch (error) {
    // A deleted topic has no original. Any other failure may be temporary, and must not count as missing.
    if (error instanceof KafkaError && isMissing(error)) return undefined
    throw error
  } finally {
    signal?.removeEventListener('abort', close)
  }
}
