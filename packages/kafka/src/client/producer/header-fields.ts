import { Buffer } from 'node:buffer'
import type { MeasuredRecord } from '../../wire/records/encode-batch.ts'
import { HeaderBlock } from '../../wire/records/header-block.ts'
import { checkHeader } from './check-record.ts'
import type { OutRecord } from './producer.ts'

const none: MeasuredRecord['headerFields'] = []

/** Header names are few and repeat in every record, so their bytes are made once. Bounded, since a caller may make them up. */
const knownNames = new Map<string, Buffer>()
const mostKnownNames = 1_000

/**
 * Headers as a batch takes them, from any iterable of pairs: a Map, RecordHeaders, a fetched record's headers. A copy:
 * whoever sends may use its list again.
 */
export function headerFields(headers: OutRecord['headers']): MeasuredRecord['headerFields'] {
  if (headers === undefined) return none
  if (headers instanceof HeaderBlock) return headers // It never changes, and is what a batch is made of.
  const pairs: readonly (readonly [string, Buffer | null])[] = Array.isArray(headers) ? headers : [...headers]
  // Of its final length from the start: one that grows takes twice the space, in every record.
  const fields = Array<Buffer | null>(pairs.length * 2)
  for (let index = 0; index < pairs.length; index++) {
    const pair = pairs[index] as readonly [string, Buffer | null]
    checkHeader(pair)
    fields[index * 2] = bytesOf(pair[0])
    fields[index * 2 + 1] = pair[1]
  }
  return fields
}

function bytesOf(name: string): Buffer {
  const known = knownNames.get(name)
  if (known !== undefined) return known
  const bytes = Buffer.from(name)
  if (knownNames.size < mostKnownNames) knownNames.set(name, bytes)
  return bytes
}
