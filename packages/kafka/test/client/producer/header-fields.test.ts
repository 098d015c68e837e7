import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { headerFields } from '../../../src/client/producer/header-fields.ts'

type Pair = readonly [string, Buffer | null]

describe('the header fields of a record', () => {
  const pairs: Pair[] = [
    ['id', Buffer.from('1')],
    ['empty', null],
    ['id', Buffer.from('2')],
  ]
  const fields = [Buffer.from('id'), Buffer.from('1'), Buffer.from('empty'), null, Buffer.from('id'), Buffer.from('2')]

  test.each([
    { from: 'a list', headers: pairs },
    { from: 'any iterable', headers: { [Symbol.iterator]: () => pairs[Symbol.iterator]() } },
  ])('are names and values in their order, repeated names too, from $from', ({ headers }) => {
    expect(headerFields(headers)).toEqual(fields)
  })

  test('are those of a map', () => {
    expect(headerFields(new Map([['id', Buffer.from('1')]]))).toEqual(fields.slice(0, 2))
  })

  test('are none without headers', () => {
    expect(headerFields(undefined)).toEqual([])
    expect(headerFields([])).toEqual([])
  })

  test('do not change with the list that they come from', () => {
    const headers: Pair[] = [...pairs]
    const taken = headerFields(headers)
    headers.length = 0
    expect(taken).toEqual(fields)
  })

  test.each([
    { what: 'a pair that is none', pair: 'id' },
    { what: 'a name that is no text', pair: [1, null] },
    { what: 'a value that is no buffer', pair: ['id', 'text'] },
    { what: 'a value that is left out', pair: ['id'] },
  ])('are refused with $what', ({ pair }) => {
    expect(() => headerFields([pair] as unknown as Pair[])).toThrow(ArgumentError)
  })
})
