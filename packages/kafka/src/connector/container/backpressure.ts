import type { ResolvedBinding } from '../option/resolved-binding.ts'
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

/** Stops a partition's fetches, or lets them go on. */
export function applyBackpressure(pauses: PauseSet, buffered: Buffered, bounds: BufferBounds): void {
  if (isOverfull(buffered, bounds, pauses.has('BACKPRESSURE'))) pauses.add('BACKPRESSURE')
  else pauses.remove('BACKPRESSURE')
}
