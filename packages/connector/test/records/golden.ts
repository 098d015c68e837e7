/** Records as versions before this one wrote them, kept in test/golden: they lie in topics for years (D24). */

import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import type { OutRecord } from '@waybill/kafka'

/** A record as it is kept. Texts are latin1, which has a character for every byte. */
export interface Golden {
  readonly topic: string
  readonly partition?: number
  readonly key: string | null
  readonly value: string | null
  readonly headers: readonly (readonly [string, string | null])[]
}

const folder = new URL('../../../../test/golden/record/', import.meta.url)

export function golden(name: string): Golden {
  return JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')) as Golden
}

const text = (bytes: Buffer | null) => bytes?.toString('latin1') ?? null
const bytes = (latin1: string | null) => (latin1 === null ? null : Buffer.from(latin1, 'latin1'))

export function toGolden({ topic, partition, key, value, headers }: OutRecord): Golden {
  return {
    topic,
    ...(partition === undefined ? {} : { partition }),
    key: text(key),
    value: text(value),
    headers: Array.from(headers ?? [], ([name, of]) => [name, text(of)]),
  }
}

export function fromGolden({ topic, partition, key, value, headers }: Golden): OutRecord {
  return {
    topic,
    ...(partition === undefined ? {} : { partition }),
    key: bytes(key),
    value: bytes(value),
    headers: headers.map(([name, of]) => [name, bytes(of)] as const),
  }
}
