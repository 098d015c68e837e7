import type { KafkaRecord } from '@waybill/kafka'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { PauseSet } from './pause-set.ts'

/** The limits of a partition's buffer. */
type BufferBounds = Pick<ResolvedBinding, 'maxBufferedRecords' | 'maxBufferedBytes'>

/** The fetched records of a partition that have not started. */
export interface Buffered {
  readonly records: number
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
  #bytes = 0

  /** @param records - returns the number of records that have not started */
  constructor(pauses: PauseSet, bounds: BufferBounds, records: () => number) {
    this.#pauses = pauses
    this.#bounds = bounds
    this.#records = records
  }

  /** Adds to the buffer; negative: takes from it. Call {@link apply} afterwards, once for all. */
  added(bytes: number): void {
    this.#bytes += bytes
  }

  /** Takes from the buffer, and resumes fetching if there is room. */
  taken(bytes: number): void {
    this.#bytes -= bytes
    if (this.#pauses.has('BACKPRESSURE')) this.apply()
  }

  /** Empties the buffer. Does not resume fetching: a partition that drains fetches nothing. */
  forget(): void {
    this.#bytes = 0
  }

  apply(): void {
    const buffered = { records: this.#records(), bytes: this.#bytes }
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
