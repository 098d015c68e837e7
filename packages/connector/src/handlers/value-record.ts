import type { Buffer } from 'node:buffer'
import type { KafkaRecord } from '@waybill/kafka'
import type { DecodedRecord } from '../api/handler-types.ts'

/** A record with its decoded value. The rest is read from the fetched record, which parses its headers on first access. */
export class ValueRecord implements DecodedRecord {
  readonly value: unknown
  readonly #record: KafkaRecord

  constructor(record: KafkaRecord, value: unknown) {
    this.#record = record
    this.value = value
  }

  get topic(): string {
    return this.#record.topic
  }

  get partition(): number {
    return this.#record.partition
  }

  get offset(): bigint {
    return this.#record.offset
  }

  get timestamp(): number {
    return this.#record.timestamp
  }

  get epoch(): number {
    return this.#record.epoch
  }

  get key(): Buffer | null {
    return this.#record.key
  }

  get headers(): KafkaRecord['headers'] {
    return this.#record.headers
  }

  get byteLength(): number {
    return this.#record.byteLength ?? 0
  }
}
