import type { Buffer } from 'node:buffer'
import { type BatchInput, recordBytes } from '../../wire/encode-batch.ts'
import type { KafkaError } from '../kafka-error.ts'
import type { OutRecord, Written } from '../types.ts'
import { checkRecord } from './check-record.ts'
import { headerPairs } from './header-pairs.ts'

/** A record between `send` and its result. Holds the caller's buffers, which must not change before then. */
export class PendingRecord implements BatchInput {
  readonly topic: string
  /** As the caller gave it; undefined leaves the choice to the topic. */
  readonly partition: number | undefined
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: BatchInput['headers']
  readonly timestamp: number
  /** Bytes in a batch, at most. */
  readonly bytes: number
  /** On the monotonic clock. */
  readonly sentAt: number
  /** Rises with each record of a producer. */
  readonly ordinal: number
  readonly result: Promise<Written>
  readonly #resolve: (written: Written) => void
  readonly #reject: (error: KafkaError) => void
  #isSettled = false

  /** @throws ArgumentError */
  constructor(record: OutRecord, nowMs: number, sentAt: number, ordinal: number) {
    checkRecord(record)
    this.topic = record.topic
    this.partition = record.partition
    // Plain JavaScript may leave them out.
    this.key = record.key ?? null
    this.value = record.value ?? null
    this.headers = headerPairs(record.headers)
    this.timestamp = record.timestamp ?? nowMs
    this.bytes = recordBytes(this)
    this.sentAt = sentAt
    this.ordinal = ordinal
    const { promise, resolve, reject } = Promise.withResolvers<Written>()
    this.result = promise
    this.#resolve = resolve
    this.#reject = reject
  }

  /** The caller has its result. */
  get isSettled(): boolean {
    return this.#isSettled
  }

  written(partition: number, offset: bigint): void {
    this.#isSettled = true
    this.#resolve({ partition, offset })
  }

  failed(error: KafkaError): void {
    this.#isSettled = true
    this.#reject(error)
  }
}
