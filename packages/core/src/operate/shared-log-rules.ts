import { Buffer } from 'node:buffer'
import { ArgumentError } from '../errors.ts'
import type { SharedLogWrite } from './shared-log.ts'

/** The longest key of a shared log, in characters. */
export const longestLogKey = 600

/** The longest value of a shared log, in bytes of JSON. */
const longestValueBytes = 256 * 1024

/** Checks entries before an append. @throws ArgumentError */
export function checkLogWrites(writes: readonly SharedLogWrite[]): void {
  for (const { key, value } of writes) {
    if (key.length === 0 || key.length > longestLogKey)
      throw new ArgumentError(`A key of a shared log has 1 to ${longestLogKey} characters, got ${key.length}.`)
    const bytes = Buffer.byteLength(JSON.stringify(value) ?? '')
    if (bytes === 0) throw new ArgumentError(`The value of ${key} is not JSON.`)
    if (bytes > longestValueBytes)
      throw new ArgumentError(`The value of ${key} has ${bytes} bytes, more than ${longestValueBytes}.`)
  }
}
