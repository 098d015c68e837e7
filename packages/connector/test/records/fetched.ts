import { Buffer } from 'node:buffer'
import { createSeededRandom, type TopicKind } from '@waybill/core/internal'
import type { KafkaRecord, OutRecord } from '@waybill/kafka'
import { encodeBatch, readBatches } from '@waybill/kafka/wire'
import type { ResolvedDeadLetter } from '../../src/binding/resolved-binding.ts'
import type { Hop } from '../../src/records/hop.ts'
import { readTrail } from '../../src/records/trail.ts'

/** The position of a test record. */
export interface Place {
  readonly partition?: number
  readonly offset?: bigint
  readonly timestamp?: number
}

/** The record as a consumer hands it out after it was written: through the bytes of a batch, as over a broker. */
export function fetched(record: OutRecord, { partition = 0, offset = 0n, timestamp = 1_000 }: Place = {}): KafkaRecord {
  const headers = [...(record.headers ?? [])].map(([name, value]) => [Buffer.from(name), value] as const)
  const encoded = encodeBatch([{ key: record.key, value: record.value, headers, timestamp }])
  encoded.writeBigInt64BE(offset, 0)
  const [view] = [...readBatches(encoded)].flatMap((batch) =>
    batch.records({ topic: record.topic, partition, epoch: 1 }, offset),
  )
  if (view === undefined) throw new Error('A batch of one record was expected.')
  return view
}

/** A record with texts for bytes. */
export function textRecord(
  topic: string,
  headers: readonly (readonly [string, string])[] = [],
  value: string | null = 'value',
): OutRecord {
  return {
    topic,
    key: Buffer.from('key'),
    value: value === null ? null : Buffer.from(value),
    headers: headers.map(([name, text]) => [name, Buffer.from(text)] as const),
  }
}

/** A hop of a record of the group `billing`, read from a topic of that kind. */
export function hopOf(record: KafkaRecord, kind: TopicKind, failure: Partial<Hop['failure']> = {}, nowMs = 5_000): Hop {
  return {
    record,
    trail: readTrail(record, kind, 'billing'),
    kind,
    groupId: 'billing',
    failure: { error: new TypeError('no such customer'), attempts: 3, atMs: nowMs - 1, ...failure },
    nowMs,
  }
}

/** Headers as texts, in their order. */
export function headerTexts(record: Pick<OutRecord, 'headers'>): [string, string | null][] {
  return [...(record.headers ?? [])].map(([name, value]) => [name, value === null ? null : value.toString()])
}

/** Headers by name; of several the last. */
export function headerMap(record: Pick<OutRecord, 'headers'>): Record<string, string | null> {
  return Object.fromEntries(headerTexts(record))
}

/** The dead letter settings of these tests. */
export function deadLetterTo(format: ResolvedDeadLetter['format']): ResolvedDeadLetter {
  const replay = {
    groupId: 'billing-dlt-replay',
    maxReplays: 3,
    cooldownMs: 3_600_000,
    batchSize: 100,
    intervalMs: 60_000,
    target: 'ORIGINAL',
  } as const
  const handlers = { alertHandler: undefined, recordHandler: undefined, redact: (text: string) => text }
  return { topic: 'orders.DLT', strategy: 'STORE_ONLY', format, ...handlers, replay }
}

/** Bytes that compression does not shorten. */
export function randomBytes(size: number): Buffer {
  const random = createSeededRandom(1)
  return Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)))
}
