/** The checks of a contestant's evidence. One that lost or repeated a record is reported and not compared. */

import type { PassResult, Reads } from './pass-result.ts'

/** The complete work of a pass. */
export interface CompletePass {
  readonly records: number
  readonly reads: Reads
  /** The size of the fields of a record. */
  readonly keyBytes: number
  readonly valueBytes: number
  readonly headerBytes: number
  /** Calls of the handler for each record. 1 by default. */
  readonly callsPerRecord?: number
}

/** The committed and the end offset of a partition. */
export interface CommittedPartition {
  readonly partition: number
  readonly committed: bigint | null
  readonly end: bigint
}

/** Returns the first difference between a pass and the complete work, or undefined. */
export function problemOfPass(result: PassResult, complete: CompletePass): string | undefined {
  const { handled = 0, distinct = 0, bytes = 0 } = result
  const { records, reads, callsPerRecord = 1 } = complete
  const calls = records * callsPerRecord
  if (result.records !== records) return `ran ${result.records} records instead of ${records}`
  if (reads !== 'NOTHING' && distinct !== records) return `lost ${records - distinct} of ${records} records`
  if (handled < calls) return `lost ${calls - handled} of ${calls} calls`
  if (handled > calls) return `repeated ${handled - calls} of ${calls} calls`
  const expected = calls * bytesRead(complete)
  if (bytes !== expected) return `read ${bytes} bytes instead of ${expected}`
  return undefined
}

function bytesRead({ reads, keyBytes, valueBytes, headerBytes }: CompletePass): number {
  if (reads === 'NOTHING') return 0
  return keyBytes + valueBytes + (reads === 'ALL' ? headerBytes : 0)
}

/** Returns the first partition whose committed offset is not its end, or undefined. */
export function problemOfCommits(partitions: readonly CommittedPartition[]): string | undefined {
  const wrong = partitions.find(({ committed, end }) => (committed ?? 0n) !== end)
  if (wrong === undefined) return undefined
  return `committed ${wrong.committed} of ${wrong.end} in partition ${wrong.partition}`
}

/** Returns a description of records that are not there exactly once, or undefined. `counts` are the copies of each. */
export function problemOfCopies(counts: ArrayLike<number>): string | undefined {
  let missing = 0
  let repeated = 0
  for (let index = 0; index < counts.length; index++) {
    if (counts[index] === 0) missing++
    else if ((counts[index] as number) > 1) repeated++
  }
  return missing + repeated === 0 ? undefined : `wrote ${missing} records never and ${repeated} more than once`
}
