import type { Ledger } from './ledger.ts'

/**
 * Returns the offset to re-read from after the log lacked the requested position and continues at another one.
 *
 * Returns undefined if the log continues at a higher offset: the missing offsets are reported as lost and are holes in
 * the ledger. A lower offset means the log was truncated: from there on, offsets identify other records, and the ledger
 * is discarded. Unsettled records below that offset are re-read as well, so that none is skipped.
 */
export function readAgainFrom(
  { watermark, next }: Pick<Ledger, 'watermark' | 'next'>,
  continuesAt: bigint,
): bigint | undefined {
  if (continuesAt >= next) return undefined
  return watermark < continuesAt ? watermark : continuesAt
}
