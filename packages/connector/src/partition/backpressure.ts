import type { KafkaRecord } from '@waybill/kafka'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { PauseSet } from './pause-set.ts'

/** Of what is fetched and has not started, for each partition. */
type BufferBounds = Pick<ResolvedBinding, 'maxBufferedRecords' | 'maxBufferedBytes'>

/** What a partition holds that was fetched and has not started. */
export interface Buffered {
  readonly records: number
  readonly bytes: number
}

/**
 * Whether a partition holds too much to fetch more: from a bound on, and until half of it. At the bound itself fetching
 * would stop and go with each record, and each stop drops what is on its way.
 */
export function isOverfull(
  { records, bytes }: Buffered,
  { maxBufferedRecords, maxBufferedBytes }: BufferBounds,
  wasOverfull: boolean,
): boolean {
  const filled = Math.max(records / maxBufferedRecords, bytes / maxBufferedBytes)
  return wasOverfull ? filled > 0.5 : filled >= 1
}

/** Stops a partition's fetches while it holds too much, and lets them go on. */
export class Backpressure {
  readonly #pauses: PauseSet
  readonly #bounds: BufferBounds
  readonly #records: () => number
  #bytes = 0

  /** @param records - how many wait to start */
  constructor(pauses: PauseSet, bounds: BufferBounds, records: () => number) {
    this.#pauses = pauses
    this.#bounds = bounds
    this.#records = records
  }

  /** These wait too. To be followed by {@link apply}, once for all that came together. */
  added(bytes: number): void {
    this.#bytes += bytes
  }

  /** These wait no longer, and more may be fetched. */
  taken(bytes: number): void {
    this.#bytes -= bytes
    if (this.#pauses.has('BACKPRESSURE')) this.apply()
  }

  /** Nothing waits any more. Whether to fetch is another question: who drains forgets what waits, and fetches nothing. */
  forget(): void {
    this.#bytes = 0
  }

  apply(): void {
    const buffered = { records: this.#records(), bytes: this.#bytes }
    if (isOverfull(buffered, this.#bounds, this.#pauses.has('BACKPRESSURE'))) this.#pauses.add('BACKPRESSURE')
    else this.#pauses.remove('BACKPRESSURE')
  }
}

/** What records take of a buffer. */
export function bytesOf(records: readonly KafkaRecord[]): number {
  let bytes = 0
  for (const { byteLength = 0 } of records) bytes += byteLength
  return bytes
}
