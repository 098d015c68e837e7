import type { PassMeter } from '../passes/pass-meter.ts'
import type { Reads } from '../passes/pass-result.ts'

/** A record of a client whose headers are in any form. */
interface Fetched {
  readonly key: Buffer
  readonly value: Buffer
}

/** Returns a function that counts a record as read and done. `sizeOfHeaders` visits every header of the client's form. */
export function takeWith<R extends Fetched>(
  meter: PassMeter,
  reads: Reads,
  sizeOfHeaders: (record: R) => number,
): (record: R) => void {
  return (record) => {
    meter.begin()
    if (reads !== 'NOTHING') {
      const { key, value } = record
      meter.read(key.length + value.length + (reads === 'ALL' ? sizeOfHeaders(record) : 0), value)
    }
    meter.done()
  }
}
