import { createContext, runInContext } from 'node:vm'
import {
  ArgumentError,
  describeThrown,
  isWaybillError,
  NonRetryableError,
  OptionsError,
  StateError,
  UnreachableError,
  WaybillError,
} from '@waybill/core'
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'

class OutboxFullError extends WaybillError {
  static override readonly code = 'WAYBILL_TEST_OUTBOX_FULL'
}

const full = (): OutboxFullError =>
  new OutboxFullError('The queue is full.', {
    impact: 'The row stays.',
    hint: 'Wait.',
    cause: new TypeError('no room'),
  })

describe('a Waybill error', () => {
  test('says what happened, what is kept and what to do next in one message', () => {
    expect(full().message).toBe('The queue is full. The row stays. Wait.')
    expect(new OutboxFullError('The queue is full.').message).toBe('The queue is full.')
    expect(full()).toMatchObject({ impact: 'The row stays.', hint: 'Wait.' })
  })

  test.each([
    ['The queue is full', 'The row stays', 'Wait', 'The queue is full. The row stays. Wait'],
    ['Is it full?', 'The row stays!', 'Wait.', 'Is it full? The row stays! Wait.'],
    ['Did you mean "a?"', undefined, 'Wait.', 'Did you mean "a?" Wait.'],
    ['It was given ":memory:"', 'Nothing was sent.', undefined, 'It was given ":memory:". Nothing was sent.'],
    ['It failed:', 'boom', undefined, 'It failed: boom'],
    ['2 are wrong:\n  a\n ', 'Nothing was done.', undefined, '2 are wrong:\n  a\n  Nothing was done.'],
    ['one failed:\n  boom', '\nThe rest ended.', undefined, 'one failed:\n  boom \nThe rest ended.'],
  ])('ends %j before it goes on', (what, impact, hint, message) => {
    const context = { ...(impact === undefined ? {} : { impact }), ...(hint === undefined ? {} : { hint }) }
    expect(new OutboxFullError(what, context).message).toBe(message)
  })

  test('tells what happened apart from the rest, whatever sentences the two have in common', () => {
    expect(full().happened).toBe('The queue is full.')
    const alike = new OutboxFullError('Wait. It is full', { impact: 'Wait.', hint: 'Wait.' })
    expect([alike.happened, alike.message]).toEqual(['Wait. It is full', 'Wait. It is full. Wait. Wait.'])
  })

  test('can have a subclass that says in its own way what happened', () => {
    class CarrierGoneError extends NonRetryableError {
      override readonly happened = 'gone'
    }
    expect(new CarrierGoneError('x').happened).toBe('gone')
  })

  test('can be made without a word, which plain JavaScript does', () => {
    expect(new NonRetryableError(undefined as never).message).toBe('')
  })

  test('is called by the name of its class, also on its stack', () => {
    expect(full().name).toBe('OutboxFullError')
    expect(full().stack).toMatch(/^OutboxFullError: The queue is full\./)
    expect(String(full())).toBe('OutboxFullError: The queue is full. The row stays. Wait.')
  })

  test('carries the code of its class as its only enumerable property, which is what loggers print', () => {
    expect(full().code).toBe(OutboxFullError.code)
    expect(Object.entries(full())).toEqual([['code', 'WAYBILL_TEST_OUTBOX_FULL']])
  })

  test('keeps its cause, and has none when none was given', () => {
    expect(full().cause).toBeInstanceOf(TypeError)
    expect('cause' in new OutboxFullError('x')).toBe(false)
    expect('cause' in new OutboxFullError('x', { cause: undefined })).toBe(true)
  })

  test('becomes JSON without its stack, leaving out what it does not have', () => {
    expect(JSON.parse(JSON.stringify(full()))).toEqual({
      name: 'OutboxFullError',
      code: 'WAYBILL_TEST_OUTBOX_FULL',
      message: 'The queue is full. The row stays. Wait.',
      impact: 'The row stays.',
      hint: 'Wait.',
      cause: 'TypeError: no room',
    })
    expect(Object.keys(new OutboxFullError('x').toJSON())).toEqual(['name', 'code', 'message'])
  })

  test.each([
    [new NonRetryableError('x'), 'WAYBILL_NON_RETRYABLE'],
    [new ArgumentError('x'), 'WAYBILL_ARGUMENT_INVALID'],
    [new StateError('x'), 'WAYBILL_STATE_INVALID'],
    [new UnreachableError('x' as never), 'WAYBILL_UNREACHABLE'],
    [new OptionsError('x', []), 'WAYBILL_OPTIONS_INVALID'],
  ])('%s has the code %s', (error, code) => {
    expect(error.code).toBe(code)
    expect(error).toBeInstanceOf(WaybillError)
    expect(error).toBeInstanceOf(Error)
  })

  test('names the value that no branch of a switch expected', () => {
    expect(new UnreachableError({ kind: 'NEW' } as never).message).toContain("{ kind: 'NEW' }")
  })
})

describe('isWaybillError', () => {
  test('recognises an error that another copy of the package threw', async () => {
    vi.resetModules()
    const copy = await import('../src/errors.ts')
    const foreign = new copy.StateError('from the other copy')
    expect(foreign).not.toBeInstanceOf(StateError)
    expect(isWaybillError(foreign)).toBe(true)
    expect(copy.isWaybillError(new StateError('from this copy'))).toBe(true)
  })

  test('is false for everything else and never throws', () => {
    const hostile = new Proxy({}, { get: () => expect.unreachable() })
    const others = [new Error('x'), 'x', undefined, null, 0, {}, () => {}, hostile]
    expect(others.filter(isWaybillError)).toEqual([])
  })
})

describe('describeThrown', () => {
  const cyclic: Record<string, unknown> = { size: 10n }
  cyclic['self'] = cyclic
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const withGetter = Object.defineProperty(new Error('x'), 'message', {
    get: () => {
      throw new Error('from the getter')
    },
  })
  const nobodyAnswers = new AggregateError([
    new Error('connect ECONNREFUSED ::1:9092'),
    new Error('connect ECONNREFUSED 127.0.0.1:9092'),
    'x',
    'left out',
  ])

  // Named, because a test runner that prints such values crashes.
  const texts: Record<string, [thrown: unknown, text: string]> = {
    'an error': [new Error('boom'), 'Error: boom'],
    'an error without a text': [new RangeError(''), 'RangeError'],
    'an error without anything': [Object.assign(new Error(''), { name: '' }), 'an error without a name'],
    'an error whose name is gone': [Object.assign(new Error('boom'), { name: undefined }), 'boom'],
    'a DOMException': [new DOMException('stop', 'AbortError'), 'AbortError: stop'],
    'an error of another realm': [runInContext('new Error("other realm")', createContext()), 'Error: other realm'],
    'errors of every address of a host': [
      nobodyAnswers,
      'AggregateError: connect ECONNREFUSED ::1:9092; connect ECONNREFUSED 127.0.0.1:9092; x',
    ],
    'errors under a headline': [new AggregateError([new Error('x')], 'both'), 'AggregateError: both'],
    'a text': ['boom', 'boom'],
    'an empty text': ['', 'an empty text'],
    undefined: [undefined, 'undefined'],
    null: [null, 'null'],
    'a bigint': [10n, '10n'],
    'a symbol': [Symbol('x'), 'Symbol(x)'],
    'an object': [{ code: 7 }, '{ code: 7 }'],
    'a frozen list': [Object.freeze([1, 2]), '[ 1, 2 ]'],
    'a map': [new Map([['a', 1]]), "Map(1) { 'a' => 1 }"],
    'a function': [describeThrown, '[Function: describeThrown]'],
    'a cyclic object': [cyclic, '<ref *1> { size: 10n, self: [Circular *1] }'],
    'an object without a prototype': [Object.create(null), '[Object: null prototype] {}'],
    'a revoked proxy': [proxy, 'a value that cannot be read'],
    'an error whose getter throws': [withGetter, 'a value that cannot be read'],
  }

  for (const [name, [thrown, text]] of Object.entries(texts)) {
    test(`makes a text of ${name}`, () => {
      expect(describeThrown(thrown)).toBe(text)
    })
  }

  test('does not run code of the value it describes', () => {
    const custom = {
      [Symbol.for('nodejs.util.inspect.custom')]: () => expect.unreachable(),
      toJSON: expect.unreachable,
    }
    expect(describeThrown(custom)).toContain('toJSON')
  })

  test('is never longer than 2,000 characters', () => {
    expect(describeThrown('x'.repeat(2_000))).toHaveLength(2_000)
    expect(describeThrown(new Error('x'.repeat(1e6)))).toHaveLength(2_000)
  })

  test('is total: any value gives a text that is neither empty nor too long', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true }), (thrown) => {
        for (const value of [thrown, Object.assign(new Error('x'), { name: thrown, message: thrown })]) {
          const text = describeThrown(value)
          expect(text.length).toBeGreaterThan(0)
          expect(text.length).toBeLessThanOrEqual(2_000)
        }
      }),
    )
  })
})

test('a class that extends one of ours may give itself another name', () => {
  class RefundError extends NonRetryableError {
    constructor(message: string) {
      super(message)
      this.name = 'Refund'
    }
  }
  const error = new RefundError('twice')
  expect(error.name).toBe('Refund')
  expect(error.toJSON().name).toBe('Refund')
  expect(new NonRetryableError('x').name).toBe('NonRetryableError')
})
