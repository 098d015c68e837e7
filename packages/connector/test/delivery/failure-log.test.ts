import { describe, expect, test } from 'vitest'
import { failureLogOf } from '../../src/delivery/failure-log.ts'
import type { Outcome } from '../../src/delivery/outcome.ts'
import type { Failure } from '../../src/records/failure.ts'

const failure: Failure = { error: new TypeError('no such order'), attempts: 3, atMs: 0 }
const fields = { exception: 'TypeError', reason: 'TypeError: no such order', attempts: 3 }

const told: readonly (readonly [string, Outcome, string, object])[] = [
  ['a retry', { kind: 'RETRY', tier: 2, attempt: 1, failure }, 'info', { ...fields, tier: 2, attempt: 1 }],
  [
    'a dead letter',
    { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure },
    'warn',
    { ...fields, deadLetterReason: 'NON_RETRYABLE' },
  ],
  ['a skip by the profile', { kind: 'SKIP', cause: 'BEST_EFFORT', failure }, 'warn', fields],
  ['a record that blocks', { kind: 'PAUSE', cause: 'BLOCKED', failure }, 'warn', fields],
  [
    'a record that waits for somebody',
    { kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'PARTITION' },
    'error',
    fields,
  ],
  ['an open circuit', { kind: 'PAUSE', cause: 'BREAKER', failure }, 'debug', fields],
]

function shipOrder(order: { readonly address?: { readonly street: string } }): number {
  return (order.address as { readonly street: string }).street.length
}

describe('the log', () => {
  test.each(told)('tells of %s, with what was thrown', (_, outcome, level, expected) => {
    expect(failureLogOf(outcome, (text) => text)).toMatchObject({ level, fields: expected })
  })

  test('tells which line of the program threw', () => {
    try {
      shipOrder({})
    } catch (error) {
      const line = failureLogOf({ kind: 'RETRY', tier: 1, attempt: 1, failure: { ...failure, error } }, (text) => text)
      expect(line?.fields).toMatchObject({ thrownAt: expect.stringMatching(/shipOrder .*failure-log\.test\.ts:\d+/) })
    }
    expect.assertions(1)
  })

  test.each([
    ['success', { kind: 'DONE' }],
    ['an event nobody asked for', { kind: 'SKIP', cause: 'UNHANDLED', failure: undefined }],
    ['a cancelled delivery', { kind: 'PAUSE', cause: 'CANCELLED', failure: undefined }],
  ] satisfies [string, Outcome][])('says nothing of %s', (_, outcome) => {
    expect(failureLogOf(outcome, (text) => text)).toBeUndefined()
  })

  test('has a redacted reason', () => {
    const error = new Error('no card 4111')
    const outcome = { kind: 'RETRY', tier: 1, attempt: 1, failure: { ...failure, error } } as const
    const line = failureLogOf(outcome, (text) => text.replace('4111', '****'))
    expect(line?.fields['reason']).toBe('Error: no card ****')
  })

  test('can tell of anything that was thrown', () => {
    for (const error of [undefined, null, 'text', Object.freeze({}), new Proxy({}, {})])
      expect(
        failureLogOf({ kind: 'RETRY', tier: 1, attempt: 1, failure: { ...failure, error } }, (text) => text)?.level,
      ).toBe('info')
  })
})
