import { ArgumentError, RecordHeaders } from '@waybill/core'
import { type HeaderPair } from '@waybill/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const names = fc.constantFrom('a', 'b', 'c', '', 'traceparent')
const bytes = fc.option(
  fc.uint8Array({ maxLength: 8 }).map((array) => Buffer.from(array)),
  { nil: null },
)
const pairLists = fc.array(fc.tuple(names, bytes), { maxLength: 8 })
const forgedNumbers = fc.oneof(
  fc.uint8Array({ maxLength: 24 }).map((array) => Buffer.from(array)),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map((value) => Buffer.from(String(value))),
  fc.double().map((value) => Buffer.from(String(value))),
  fc.constant(null),
)

function headersOf(...pairs: [string, string | null][]): RecordHeaders {
  return RecordHeaders.from(pairs)
}

function read(headers: RecordHeaders): [string, string | null][] {
  return [...headers].map(([name, value]) => [name, value === null ? null : value.toString()])
}

describe('record headers', () => {
  test('pass through what they were made from: order, repeated names, the very same bytes', () => {
    fc.assert(
      fc.property(pairLists, (pairs) => {
        const passed = [...RecordHeaders.from(pairs)]
        expect(passed.length).toBe(pairs.length)
        for (const [index, [name, value]] of pairs.entries()) {
          expect(passed[index]?.[0]).toBe(name)
          expect(passed[index]?.[1]).toBe(value)
        }
      }),
    )
  })

  test('do not change when the list they were made from does', () => {
    const pair: [string, string] = ['a', '1']
    const pairs = [pair]
    const headers = RecordHeaders.from(pairs)
    pairs.push(['b', '2'])
    pair[0] = 'c'
    expect(read(headers)).toEqual([['a', '1']])
  })

  test('made from headers are those headers', () => {
    const headers = headersOf(['a', '1'])
    expect(RecordHeaders.from(headers)).toBe(headers)
    expect(RecordHeaders.from([])).toBe(RecordHeaders.empty)
  })

  test('keep null, empty and absent apart', () => {
    const headers = headersOf(['null', null], ['empty', ''])
    expect([headers.get('null'), headers.get('empty')?.length, headers.get('absent')]).toEqual([null, 0, undefined])
    expect([headers.has('null'), headers.has('empty'), headers.has('absent')]).toEqual([true, true, false])
    expect([headers.text('null'), headers.text('empty'), headers.text('absent')]).toEqual([undefined, '', undefined])
  })

  test('answer with the last of several values, and with all of them when asked', () => {
    const headers = headersOf(['a', '1'], ['b', 'x'], ['a', '2'])
    expect(headers.text('a')).toBe('2')
    expect(headers.getAll('a').map(String)).toEqual(['1', '2'])
    expect(headers.getAll('c')).toEqual([])
    expect(headersOf(['a', '1'], ['a', null]).text('a')).toBeUndefined()
    expect(headers.size).toBe(3)
  })

  test('tell upper from lower case, as Kafka does', () => {
    expect(headersOf(['ID', '1']).text('id')).toBeUndefined()
  })

  test('read names that objects have a meaning for like any other', () => {
    expect(RecordHeaders.empty.text('constructor')).toBeUndefined()
    expect(headersOf(['__proto__', '1']).text('__proto__')).toBe('1')
  })

  test('give text for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (array) => {
        const text = RecordHeaders.from([['a', array]]).text('a') as string
        expect(text).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(array))
      }),
    )
    expect(RecordHeaders.from([['a', Buffer.from('c328', 'hex')]]).text('a')).toBe('\uFFFD(')
  })

  test('write text as UTF-8, whole numbers as decimals, and bytes as they are', () => {
    const view = new Uint8Array([0, 1, 2, 3]).subarray(1, 3)
    const written = RecordHeaders.from([
      ['text', 'é🎉'],
      ['number', -12],
      ['large', 2n ** 63n],
      ['view', view],
    ])
    expect([...written].map(([, value]) => value?.toString('hex'))).toEqual([
      'c3a9f09f8e89',
      '2d3132',
      Buffer.from('9223372036854775808').toString('hex'),
      '0102',
    ])
  })

  test.each([undefined, Number.NaN, 1.5, Number.POSITIVE_INFINITY, 2 ** 53, true, {}])(
    'refuse to write %s',
    (value) => {
      expect(() => RecordHeaders.from([['a', value as number]])).toThrow(ArgumentError)
      expect(() => RecordHeaders.empty.with('a', value as number)).toThrow(ArgumentError)
      expect(() => RecordHeaders.empty.append('a', value as number)).toThrow(ArgumentError)
    },
  )

  test.each([{ a: '1' }, undefined, null, 7])('refuse to be made from %j, which has no pairs', (given) => {
    expect(() => RecordHeaders.from(given as never)).toThrow(ArgumentError)
    expect(() => RecordHeaders.from(given as never)).toThrow('Object.entries(headers)')
  })

  test('refuse a name that is no text', () => {
    expect(() => RecordHeaders.from([[undefined as unknown as string, 'x']])).toThrow(ArgumentError)
  })
})

describe('a change of record headers', () => {
  test('with a value replaces all of the name, in the place of the first', () => {
    const headers = headersOf(['a', '1'], ['b', 'x'], ['a', '2'], ['c', null])
    expect(read(headers.with('a', '3'))).toEqual([
      ['a', '3'],
      ['b', 'x'],
      ['c', null],
    ])
    expect(read(headers.with('d', null)).at(-1)).toEqual(['d', null])
  })

  test('by append keeps the values the name has', () => {
    expect(read(headersOf(['a', '1'], ['b', 'x']).append('a', '2'))).toEqual([
      ['a', '1'],
      ['b', 'x'],
      ['a', '2'],
    ])
  })

  test('without a name, or the names a function picks, keeps the rest', () => {
    const headers = headersOf(['a', '1'], ['ab', '2'], ['c', '3'], ['a', '4'])
    expect(read(headers.without('a')).map(([name]) => name)).toEqual(['ab', 'c'])
    expect(read(headers.without((name) => name.startsWith('a'))).map(([name]) => name)).toEqual(['c'])
    expect(headers.without('z')).toBe(headers)
  })

  test('leaves the headers it was asked of as they are, and shares the bytes of the rest', () => {
    fc.assert(
      fc.property(pairLists, names, (pairs, name) => {
        const headers = RecordHeaders.from(pairs)
        const before: HeaderPair[] = [...headers]
        const changed = [headers.with(name, 'new'), headers.append(name, 'new'), headers.without(name)]

        expect([...headers]).toEqual(before)
        const untouched = before.filter((pair) => pair[0] !== name)
        for (const result of changed) {
          const others = [...result].filter((pair) => pair[0] !== name)
          expect(others.map((pair) => pair[1])).toEqual(untouched.map((pair) => pair[1]))
          for (const [index, pair] of others.entries()) expect(pair[1]).toBe(untouched[index]?.[1])
        }
        expect(changed.map((result) => result.getAll(name).length)).toEqual([1, headers.getAll(name).length + 1, 0])
      }),
    )
  })
})

describe('a whole number in a header', () => {
  test.each<[string | null, number | undefined]>([
    ['0', 0],
    ['7', 7],
    ['007', 7],
    ['100', 100],
    ['101', 100],
    ['99999999999999999999999999999999', 100],
    ['9'.repeat(400), 100],
    ['-1', 0],
    ['-0', 0],
    [`-${'9'.repeat(400)}`, 0],
    [null, undefined],
    ['', undefined],
    ['-', undefined],
    ['--1', undefined],
    ['+1', undefined],
    [' 1', undefined],
    ['1 ', undefined],
    ['1.0', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['NaN', undefined],
    ['Infinity', undefined],
    ['1\u0000', undefined],
    ['١', undefined],
  ])('written as %j and bound to 100 reads as %j', (text, value) => {
    expect(headersOf(['n', text]).integer('n', 100)).toBe(value)
  })

  test('reads as undefined when it is absent', () => {
    expect(RecordHeaders.empty.integer('n')).toBeUndefined()
  })

  test('is bound to what an int32 can be unless a caller says otherwise', () => {
    expect(headersOf(['n', '2147483648']).integer('n')).toBe(2147483647)
    expect(headersOf(['n', '0']).integer('n', 10, 1)).toBe(1)
  })

  test('is undefined or within its bounds, whatever was written', () => {
    fc.assert(
      fc.property(forgedNumbers, (forged) => {
        const value = RecordHeaders.from([['n', forged]]).integer('n', 1000, 1) ?? 1
        expect(Number.isInteger(value) && value >= 1 && value <= 1000).toBe(true)
      }),
    )
  })

  test('comes back as it was written', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        expect(RecordHeaders.from([['n', value]]).integer('n', Number.MAX_SAFE_INTEGER)).toBe(value)
      }),
    )
  })
})

describe('a timestamp in a header', () => {
  test.each<[string, number | undefined]>([
    ['1767225600000', 1767225600000],
    ['253402300799999', 253402300799999],
    ['253402300800000', 253402300799999],
    ['9223372036854775807', 253402300799999],
    ['-5', 0],
    ['2026-01-01T00:00:00Z', undefined],
  ])('written as %j reads as %j', (text, value) => {
    expect(headersOf(['t', text]).timestampMs('t')).toBe(value)
  })

  test('is undefined or a date, whatever was written', () => {
    fc.assert(
      fc.property(forgedNumbers, (forged) => {
        const value = RecordHeaders.from([['t', forged]]).timestampMs('t') ?? 0
        expect(new Date(value).toISOString()).toMatch(/^\d{4}-/)
      }),
    )
  })
})

describe('an offset in a header', () => {
  test.each<[string | null, bigint | undefined]>([
    ['0', 0n],
    ['9007199254740991', 9007199254740991n],
    ['9007199254740993', 9007199254740993n],
    ['0009007199254740993', 9007199254740993n],
    ['9223372036854775806', 9223372036854775806n],
    ['9223372036854775807', 9223372036854775807n],
    ['9223372036854775808', 9223372036854775807n],
    ['9999999999999999999', 9223372036854775807n],
    ['9'.repeat(400), 9223372036854775807n],
    ['-1', 0n],
    [`-${'9'.repeat(400)}`, 0n],
    ['', undefined],
    ['1.5', undefined],
    ['12n', undefined],
    [null, undefined],
  ])('written as %s reads as %s', (text, value) => {
    expect(headersOf(['o', text]).offset('o')).toBe(value)
  })

  test('comes back as it was written', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), (offset) => {
        expect(RecordHeaders.from([['o', offset]]).offset('o')).toBe(offset)
      }),
    )
  })

  test('is undefined or within its bounds, whatever was written', () => {
    fc.assert(
      fc.property(forgedNumbers, (forged) => {
        const value = RecordHeaders.from([['o', forged]]).offset('o') ?? 0n
        expect(value >= 0n && value < 2n ** 63n).toBe(true)
      }),
    )
  })
})
