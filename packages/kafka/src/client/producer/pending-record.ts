import type { Buffer } from 'node:buffer'
import { fieldBytes, type MeasuredRecord, recordBytes } from '../../wire/records/encode-batch.ts'
import type { KafkaError } from '../cluster/kafka-error.ts'
import { checkRecord } from './check-record.ts'
import { headerFields } from './header-fields.ts'
import type { OutRecord, SendResult } from './producer.ts'

/**
 * Settlers of the promise created last, read back in the same turn. A closure or an object with all three per promise
 * would cost half as much again as the promise itself.
 */
let resolveLast: (written: SendResult) => void
let rejectLast: (error: KafkaError) => void

function keepSettlers(resolve: (written: SendResult) => void, reject: (error: KafkaError) => void): void {
  resolveLast = resolve
  rejectLast = reject
}

/** A record between `send` and its result. Holds the caller's buffers, which must not change until then. */
export class PendingRecord implements MeasuredRecord {
  readonly topic: string
  /** The partition given by the caller; undefined leaves the choice to the topic route. */
  readonly partition: number | undefined
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headerFields: MeasuredRecord['headerFields']
  readonly timestamp: number
  readonly fieldBytes: number
  /** Upper bound of its bytes in a batch. */
  readonly bytes: number
  /** Time of `send` on the monotonic clock. */
  readonly sentAt: number
  /** A number that increases with each record of a producer. */
  readonly ordinal: number
  readonly result: Promise<SendResult>
  readonly #resolve: (written: SendResult) => void
  readonly #reject: (error: KafkaError) => void
  #isSettled = false
  #error: KafkaError | undefined

  /** @throws ArgumentError */
  constructor(record: OutRecord, nowMs: number, sentAt: number, ordinal: number) {
    checkRecord(record)
    this.topic = record.topic
    this.partition = record.partition
    this.key = record.key
    this.value = record.value
    this.headerFields = headerFields(record.headers)
    this.timestamp = record.timestamp ?? nowMs
    this.fieldBytes = fieldBytes(this)
    this.bytes = recordBytes(this)
    this.sentAt = sentAt
    this.ordinal = ordinal
    this.result = new Promise<SendResult>(keepSettlers)
    this.#resolve = resolveLast
    this.#reject = rejectLast
  }

  /** True when the caller has its result. */
  get isSettled(): boolean {
    return this.#isSettled
  }

  /** The reason why `send` was rejected. */
  get error(): KafkaError | undefined {
    return this.#error
  }

  written(partition: number, offset: bigint): void {
    this.#isSettled = true
    this.#resolve({ partition, offset })
  }

  failed(error: KafkaError): void {
    this.#isSettled = true
    this.#error = error
    this.#reject(error)
  }
}
