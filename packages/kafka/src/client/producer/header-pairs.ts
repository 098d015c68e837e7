import { Buffer } from 'node:buffer'
import type { BatchInput } from '../../wire/encode-batch.ts'
import type { OutRecord } from '../types.ts'
import { checkHeader } from './check-record.ts'

const none: BatchInput['headers'] = []

/** Header names are few and repeat in every record, so their bytes are made once. Bounded, since a caller may make them up. */
const knownNames = new Map<string, Buffer>()
const mostKnownNames = 1_000

/** Headers as a batch takes them, from any iterable of pairs: a Map, RecordHeaders, a fetched record's headers. */
export function headerPairs(headers: OutRecord['headers']): BatchInput['headers'] {
  if (headers === undefined) return none
  const pairs: (readonly [Buffer, Buffer | null])[] = []
  for (const pair of headers) {
    checkHeader(pair)
    pairs.push([bytesOf(pair[0]), pair[1]])
  }
  return pairs
}

function bytesOf(name: string): Buffer {
  const known = knownNames.get(name)
  if (known !== undefined) return known
  const bytes = Buffer.from(name)
  if (knownNames.size < mostKnownNames) knownNames.set(name, bytes)
  return bytes
}
