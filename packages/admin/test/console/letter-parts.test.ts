import { describe, expect, test } from 'vitest'
import type { Schemas } from '../../console/api/api-types.ts'
import { editableHeaders, editBody, linesOf, noEdit, valueOf } from '../../console/page/dead-letter/edit-draft.ts'
import { isParked, originOf, placeOf, stepsOf, versionOf } from '../../console/page/dead-letter/letter-facts.ts'
import { mainLines, stackLines } from '../../console/page/dead-letter/stack-lines.ts'

type Letter = Schemas['DeadLetterDetail']

const utf8 = (text: string) => ({ encoding: 'utf8', text, bytes: text.length })
const header = (name: string, of = 'CUSTOM', text = 'x') => ({ name, class: of, value: utf8(text) })

describe('a stack', () => {
  const stack = [
    'HttpError: 502',
    '    at fetch (node:internal/deps/undici:1:2)',
    '    at ship (/srv/src/shipping.ts:42:7)',
    '    at run (/srv/node_modules/lib/index.js:1:1)',
  ].join('\n')

  test('shows its text and the frames of the application first', () => {
    const lines = stackLines(stack)
    expect(lines.map(({ kind }) => kind)).toEqual(['TEXT', 'FOREIGN', 'OWN', 'FOREIGN'])
    expect(mainLines(lines).map(({ text }) => text.trim())).toEqual([
      'HttpError: 502',
      'at ship (/srv/src/shipping.ts:42:7)',
    ])
  })

  test('without own frames shows its first lines', () => {
    const lines = stackLines(`Error: x\n${'    at f (node:vm:1)\n'.repeat(20)}`)
    expect(mainLines(lines)).toHaveLength(6)
  })

  test('of a hostile size is cut', () => {
    expect(stackLines('at x\n'.repeat(100_000)).length).toBe(500)
  })
})

test.each([
  ['x-eventbus-dlt-reason', 'WAYBILL'],
  ['kafka_dlt-original-topic', 'SPRING'],
  ['dead-letter-reason', 'SMALLRYE'],
  ['__connect.errors.topic', 'CONNECT'],
  ['tenant', 'OTHER'],
])('a dead letter with the header %s was written by %s', (name, origin) => {
  expect(originOf({ headers: [header(name)] })).toBe(origin)
})

test('a parked value, an unknown place and the version are read from the letter', () => {
  expect(isParked({ headers: [header('x-eventbus-dlt-parked')] })).toBe(true)
  expect(isParked({ headers: [] })).toBe(false)
  const original = { topic: 'orders', partition: 0, offset: null, at: null, stillThere: null }
  expect(placeOf({ original })).toBeUndefined()
  expect(placeOf({ original: { ...original, offset: '9007199254740993' } })).toBe('orders:0:9007199254740993')
  expect(versionOf({ replayCount: 2, state: 'OPEN' })).toBe('"2-OPEN"')
})

test('the way of a record is told from its end to its beginning', () => {
  const letter = {
    attempts: [
      { tier: 0, attempts: 3, exception: 'HttpError', exhaustedAt: '2026-01-01T00:00:01Z' },
      { tier: 1, attempts: 1, exception: 'HttpError', exhaustedAt: '2026-01-01T00:00:06Z' },
    ],
    deadAt: '2026-01-01T00:00:07Z',
    original: { at: '2026-01-01T00:00:00Z' },
    exception: 'HttpError',
  } as unknown as Letter
  expect(stepsOf(letter).map(({ kind, tier, calls }) => [kind, tier, calls])).toEqual([
    ['DIED', 0, 0],
    ['TIER', 1, 1],
    ['TIER', 0, 3],
    ['WRITTEN', 0, 0],
  ])
})

describe('an edit', () => {
  const letter = {
    value: utf8('{"total":19.99,"id":9007199254740993}'),
    headers: [header('id', 'LOCKED'), header('tenant'), header('tenantId', 'SENSITIVE', 'a')],
  }

  test('without a difference is no request', () => {
    expect(editBody(letter, noEdit)).toBeUndefined()
    expect(editBody(letter, { ...noEdit, value: letter.value.text, set: { tenant: 'x' }, removed: ['nope'] })).toBe(
      undefined,
    )
  })

  test('sends what was changed and nothing else', () => {
    const draft = { ...noEdit, value: '{"total":1999}', set: { tenant: 'y', tenantId: 'a' }, reason: ' INC ' }
    expect(editBody(letter, draft)).toEqual({
      value: '{"total":1999}',
      headers: { set: { tenant: 'y' } },
      reason: 'INC',
    })
    expect(editBody(letter, { ...noEdit, removed: ['tenant'], set: { tenant: 'y' } })).toEqual({
      headers: { remove: ['tenant'] },
    })
  })

  test('never changes locked headers, nor bytes that are hidden, cut or no text', () => {
    expect(editableHeaders(letter).map(({ name }) => name)).toEqual(['tenant', 'tenantId'])
    expect(valueOf({ value: { hidden: true, bytes: 3 } })).toEqual({ off: 'hidden' })
    expect(valueOf({ value: { encoding: 'base64', text: '/w==', bytes: 1 } })).toEqual({ off: 'notText' })
    expect(valueOf({ value: { ...utf8('x'), truncated: true } })).toEqual({ off: 'tooLarge' })
    expect(valueOf({ value: null })).toEqual({ text: '' })
  })

  test('is compared line by line without a change of its numbers', () => {
    expect(linesOf(letter.value.text)).toBe('{\n  "total": 19.99,\n  "id": 9007199254740993\n}')
    expect(linesOf('no json')).toBe('no json')
  })
})
