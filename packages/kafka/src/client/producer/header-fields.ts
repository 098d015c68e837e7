import { Buffer } from 'node:buffer'
import type { MeasuredRecord } from '../../wire/records/encode-batch.ts'
import { HeaderBlock } from '../../wire/records/header-block.ts'
import { checkHeader } from './check-record.ts'
import type { OutRecord } from './producer.ts'

const none: MeasuredRecord['headerFields'] = []

/**
 * Encoded header names. They repeat in every record, so each is encoded once. Bounded, since an application may
 * generate names.
 */
const knownNames = new Map<string, Buffer>()
const mostKnownNames = 1_000

/**
 * Converts headers to the fields of a batch, from any iterable of pairs: a Map, RecordHeaders, a fetched record's
 * headers. Copies them, so that the caller may reuse its list.
 */
export function headerFields(headers: OutRecord['headers']): MeasuredRecord['headerFields'] {
  if (headers === undefined) return none
  if (headers instanceof HeaderBlock) return headers // Immutable, and already in the format of a batch.
  const pairs: readonly (readonly [string, Buffer | null])[] = Array.isArray(headers) ? headers : [...headers]
  // Allocated at its final length: a growing array takes twice the space, in every record.
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
