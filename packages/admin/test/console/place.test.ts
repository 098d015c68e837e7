import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatPlace, matchPattern, parsePlace } from '../../console/state/place.ts'
import { readState, sortParam, textParam, wordParam, wordsParam, writeState } from '../../console/state/query-codec.ts'
import { placeOfSearch } from '../../console/state/search.ts'

const mounts = ['/', '/ops/', '/a/b%20c/']
// URLs cannot hold lone surrogates, and `.` and `..` are folders for them.
const segment = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => text !== '.' && text !== '..')
const name = fc.stringMatching(/^[a-z]{1,8}$/)

test('every place survives the way through its URL, below any mount path', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...mounts),
      fc.array(segment, { maxLength: 3 }),
      fc.dictionary(name, fc.string({ minLength: 1, unit: 'grapheme' })),
      (mount, segments, query) => {
        const url = new URL(`${mount}${formatPlace({ segments, query })}`, 'http://127.0.0.1')
        expect(parsePlace(url, mount)).toEqual({ segments, query: { ...query } })
      },
    ),
  )
})

test('a segment that cannot be decoded is kept as it is', () => {
  expect(parsePlace(new URL('http://h/bindings/%E0%A4%A'), '/').segments).toEqual(['bindings', '%E0%A4%A'])
})

describe('the state of a page', () => {
  const params = {
    q: textParam(),
    tab: wordParam(['pipeline', 'audit'], 'pipeline'),
    levels: wordsParam(['UP', 'DOWN']),
    sort: sortParam(['name', 'lag'], { column: 'name', isDescending: false }),
  }

  test('survives the way through the query, and leaves parameters of others', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom('pipeline' as const, 'audit' as const),
        fc.subarray(['UP', 'DOWN'] as const),
        fc.record({ column: fc.constantFrom('name' as const, 'lag' as const), isDescending: fc.boolean() }),
        (q, tab, levels, sort) => {
          const query = writeState(params, { q, tab, levels, sort }, { cursor: 'x' })
          expect(query['cursor']).toBe('x')
          expect(readState(params, query)).toEqual({ q, tab, levels, sort })
        },
      ),
    )
  })

  test('leaves defaults out, and reads what was mistyped as the default', () => {
    expect(writeState(params, { tab: 'pipeline', q: '' }, { tab: 'audit', q: 'x' })).toEqual({})
    expect(readState(params, { tab: 'adit', sort: '-age' })).toEqual({
      q: '',
      tab: 'pipeline',
      levels: [],
      sort: { column: 'name', isDescending: false },
    })
  })
})

test('a pattern names the segments of its page', () => {
  expect(matchPattern('bindings/:key', ['bindings', 'eu:shipping'])).toEqual({ key: 'eu:shipping' })
  expect(matchPattern('', [])).toEqual({})
  expect(matchPattern('bindings/:key', ['bindings'])).toBeUndefined()
  expect(matchPattern('audit', ['me'])).toBeUndefined()
})

test.each([
  ['shipping', ['bindings', 'shipping'], {}],
  ['op_01KD0ZW3V80000000000000000', ['operations', 'op_01KD0ZW3V80000000000000000'], {}],
  ['orders.events.DLT:1:40', ['dead-letters', 'orders.events.DLT:1:40'], {}],
  ['eu:orders.events.DLT:1:40', ['dead-letters', 'eu:orders.events.DLT:1:40'], {}],
  ['error:HttpError key:o-* since:24h', ['failures'], { exception: 'HttpError', key: 'o-*', since: 'PT24H' }],
  ['502 from since:7d', ['failures'], { q: '502 from', since: 'P7D' }],
  ['constructor:x', ['failures'], { q: 'constructor:x' }],
])('the search %j leads to its page', (text, segments, query) => {
  expect(placeOfSearch(text, ['shipping', 'mail'])).toEqual({ segments, query })
})
