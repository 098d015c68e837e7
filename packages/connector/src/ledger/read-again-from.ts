import type { Ledger } from './ledger.ts'

/**
 * From where a partition is read again whose log does not have the position that was asked for, and goes on elsewhere.
 *
 * Undefined when it goes on further down: the missing offsets are reported as lost, and to the ledger they are holes. At an
 * earlier offset the log was cut: offsets from there on mean other records now, and nothing that was learnt of them holds.
 * Of those before it some may not be settled and are forgotten with the rest: they are read again, so that none is passed
 * over.
 */
export function readAgainFrom(
  { watermark, next }: Pick<Ledger, 'watermark' | 'next'>,
  continuesAt: bigint,
): bigint | undefined {
  if (continuesAt >= next) return undefined
  return watermark < continuesAt ? watermark : continuesAt
}
