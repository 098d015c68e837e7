import type { KafkaRecord } from '@waybill/kafka'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { PauseSet } from './pause-set.ts'

/** The limits of a partition's buffer. */
type BufferBounds = Pick<ResolvedBinding, 'maxBufferedRecords' | 'maxBufferedBytes'>

/** The records of a partition in memory. */
export interface Buffered {
  /** Records that have not started. */
  readonly records: number
  /** Bytes of these, and of those whose handler runs. */
  readonly bytes: number
}

/**
 * Returns true while a partition buffers too much to fetch more: from a limit on, until half of it. With one threshold,
 * fetching would stop and start with each record, and each stop discards what is in flight.
 */
export function isOverfull(
  { records, bytes }: Buffered,
  { maxBufferedRecords, maxBufferedBytes }: BufferBounds,
  wasOverfull: boolean,
): boolean {
  const filled = Math.max(records / maxBufferedRecords, bytes / maxBufferedBytes)
  return wasOverfull ? filled > 0.5 : filled >= 1
}

/** Pauses fetching while a partition buffers too much. */
export class Backpressure {
  readonly #pauses: PauseSet
  readonly #bounds: BufferBounds
  readonly #records: () => number
  #waitingBytes = 0
  #runningBytes = 0

  /** @param records - returns the number of records that have not started */
  constructor(pauses: PauseSet, bounds: BufferBounds, records: () => number) {
    this.#pauses = pauses
    this.#bounds = bounds
    this.#records = records
  }

  /** Adds records that wait to start; negative: takes them. Call {@link apply} afterwards, once for all. */
  added(bytes: number): void {
    this.#waitingBytes += bytes
  }

  /** Notes that waiting records run. Their bytes count until they ended: a handler may hold one record of 60 MB. */
  started(bytes: number): void {
    this.#waitingBytes -= bytes
    this.#runningBytes += bytes
    if (this.#pauses.has('BACKPRESSURE')) this.apply()
  }

  /** Notes that records do not run any more. Resumes fetching if there is room and the partition is not given up. */
  ended(bytes: number, mayResume: boolean): void {
    this.#runningBytes -= bytes
    if (mayResume && this.#pauses.has('BACKPRESSURE')) this.apply()
  }

  /** Forgets waiting records. Does not resume fetching: a partition that drains fetches nothing. */
  forget(): void {
    this.#waitingBytes = 0
  }

  apply(): void {
    const buffered = { records: this.#records(), bytes: this.#waitingBytes + this.#runningBytes }
    if (isOverfull(buffered, this.#bounds, this.#pauses.has('BACKPRESSURE'))) this.#pauses.add('BACKPRESSURE')
    else this.#pauses.remove('BACKPRESSURE')
  }
}

/** Returns the size of records in a buffer. */
export function bytesOf(records: readonly KafkaRecord[]): number {
  let bytes = 0
  for (const { byteLength = 0 } of records) bytes += byteLength
  return bytes
}
