import { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { CorruptBatchError } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { claimedOriginal, compareWithOriginal } from '../../src/records/foreign-replay.ts'
import { recordOf } from '../delivery/work-of.ts'

type Pairs = readonly (readonly [string, string | null])[]

const application: Pairs = [
  ['id', '7'],
  ['tag', 'a'],
  ['tag', 'b'],
  ['empty', null],
]

function claim(topic: string, partition: string, offset: string): Pairs {
  return [
    ['x-eventbus-original-topic', topic],
    ['x-eventbus-original-partition', partition],
    ['x-eventbus-original-offset', offset],
  ]
}

function record(offset: bigint, headers: Pairs, parts: Partial<KafkaRecord> = {}): KafkaRecord {
  return recordOf({ offset, key: Buffer.from('k'), headers: RecordHeaders.from(headers), ...parts })
}

describe('a replay for another group', () => {
  test.each<[string, Pairs, bigint | undefined]>([
    ['an earlier record of its partition', claim('orders', '0', '4'), 4n],
    ['the first record', claim('orders', '0', '0'), 0n],
    ['itself', claim('orders', '0', '5'), undefined],
    ['a later record', claim('orders', '0', '6'), undefined],
    ['another partition', claim('orders', '1', '4'), undefined],
    ['another topic', claim('carts', '0', '4'), undefined],
    ['no topic', claim('orders', '0', '4').slice(1), undefined],
    ['no offset', claim('orders', '0', '4').slice(0, 2), undefined],
    ['an offset that is no number', claim('orders', '0', 'four'), undefined],
    ['a negative offset, which is read as the first', claim('orders', '0', '-1'), 0n],
    ['nothing', [], undefined],
  ])('names %s', (_, headers, offset) => {
    const expected = offset === undefined ? undefined : { topic: 'orders', partition: 0, offset }
    expect(claimedOriginal(record(5n, headers))).toEqual(expected)
  })

  const replay = record(5n, [...application, ...claim('orders', '0', '4'), ['x-eventbus-replay-count', '1']])
  const damaged = {
    [Symbol.iterator](): never {
      throw new CorruptBatchError('damaged')
    },
  } as unknown as RecordHeaders

  test.each<[string, 'COPY' | 'FORGED', KafkaRecord | undefined]>([
    ['the same record', 'COPY', record(4n, application)],
    [
      'the same record with other engine headers',
      'COPY',
      record(4n, [...application, ['x-eventbus-replay-count', '0']]),
    ],
    ['a record that was written later, by its clock', 'COPY', record(4n, application, { timestamp: 9 })],
    ['nothing', 'FORGED', undefined],
    ['another key', 'FORGED', record(4n, application, { key: Buffer.from('l') })],
    ['no key', 'FORGED', record(4n, application, { key: null })],
    ['another value', 'FORGED', record(4n, application, { value: Buffer.from('other') })],
    ['a tombstone', 'FORGED', record(4n, application, { value: null })],
    ['a missing header', 'FORGED', record(4n, application.slice(1))],
    ['one more header', 'FORGED', record(4n, [...application, ['more', '1']])],
    ['headers in another order', 'FORGED', record(4n, application.toReversed())],
    ['another header value', 'FORGED', record(4n, application.with(0, ['id', '8']))],
    ['an empty header for null', 'FORGED', record(4n, application.with(3, ['empty', '']))],
    ['damaged headers', 'FORGED', record(4n, [], { headers: damaged })],
  ])('finds %s: %s', (_, verdict, original) => {
    expect(compareWithOriginal(replay, original)).toBe(verdict)
  })
})
