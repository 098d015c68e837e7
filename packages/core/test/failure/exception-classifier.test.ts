import {
  CircuitOpenError,
  createExceptionClassifier,
  deadLetter,
  type ExceptionOptions,
  type ExceptionRoutingDecision,
  NonRetryableError,
  nextTier,
  noopLogger,
  pauseContainer,
  skipToTier,
} from '@waybill/core'
import { isRoutingDecision } from '@waybill/core/internal'
import { hostile } from '@waybill/test-support'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

class RateLimitError extends Error {}
class ValidationError extends Error {}
const reset = Object.assign(new Error('x'), { code: 'ECONNRESET' })
const unavailable = Object.assign(new Error('x'), { status: 503 })
const unparsable = Object.assign(new Error('x'), { name: 'ParseError' })

const isTeapot = (error: unknown): boolean => (error as { response: { status: number } }).response.status === 418

function decide(options: ExceptionOptions, thrown: unknown, currentTier = 0): ExceptionRoutingDecision {
  return createExceptionClassifier(options)(thrown, currentTier)
}

describe('a classifier without configuration', () => {
  test.each([
    ['a transient failure', reset, nextTier()],
    ['an extended failure', unavailable, skipToTier(2)],
    ['an open breaker', new CircuitOpenError('orders', 'OPEN'), skipToTier(2)],
    ['a permanent failure', unparsable, deadLetter()],
    ['an unknown failure', new Error('x'), nextTier()],
  ])('routes %s', (_, thrown, decision) => {
    expect(decide({}, thrown)).toEqual(decision)
  })
})

describe('the rows of a classifier', () => {
  const mapped: ExceptionOptions['skipToTierMapping'] = [[RateLimitError, 3]]

  test.each<[string, ExceptionOptions, unknown, ExceptionRoutingDecision]>([
    [
      '0: a custom classifier before the lists',
      { classifier: pauseContainer, nonRetryableExceptions: [RateLimitError] },
      new RateLimitError(),
      pauseContainer(),
    ],
    [
      '0: a custom classifier without an opinion',
      { classifier: () => undefined, skipToTierMapping: mapped },
      new RateLimitError(),
      skipToTier(3),
    ],
    [
      '1: a listed error is not retried',
      { nonRetryableExceptions: ['ValidationError'] },
      new ValidationError(),
      deadLetter(),
    ],
    [
      '1: before a mapping',
      { nonRetryableExceptions: [RateLimitError], skipToTierMapping: mapped },
      new RateLimitError(),
      deadLetter(),
    ],
    ['1: before the default table', { nonRetryableExceptions: ['ECONNRESET'] }, reset, deadLetter()],
    [
      '1: NonRetryableError before a list that has all errors',
      { retryableExceptions: [Error] },
      new NonRetryableError('x'),
      deadLetter(),
    ],
    ['2: a mapping', { skipToTierMapping: mapped }, new RateLimitError(), skipToTier(3)],
    ['2: a mapping by name', { skipToTierMapping: { ValidationError: 1 } }, new ValidationError(), skipToTier(1)],
    [
      '2: a mapping before the retryable list',
      { skipToTierMapping: mapped, retryableExceptions: [Error] },
      new RateLimitError(),
      skipToTier(3),
    ],
    [
      '2: the first mapping that matches',
      {
        skipToTierMapping: [
          [RateLimitError, 3],
          [Error, 2],
        ],
      },
      new RateLimitError(),
      skipToTier(3),
    ],
    [
      '2: an open breaker where it is mapped',
      { skipToTierMapping: [[CircuitOpenError, 3]] },
      new CircuitOpenError('b', 'OPEN'),
      skipToTier(3),
    ],
    ['3: a listed error is retried', { retryableExceptions: [RateLimitError] }, new RateLimitError(), nextTier()],
    ['3: before the default table', { retryableExceptions: ['ParseError'] }, unparsable, nextTier()],
    [
      '4: an open breaker, though not listed',
      { retryableExceptions: [RateLimitError] },
      new CircuitOpenError('b', 'OPEN'),
      skipToTier(2),
    ],
    ['5: an error that is not listed', { retryableExceptions: [RateLimitError] }, new Error('x'), deadLetter()],
    ['5: a transient error that is not listed', { retryableExceptions: [RateLimitError] }, reset, deadLetter()],
    [
      '6: the default table',
      { nonRetryableExceptions: [ValidationError], skipToTierMapping: mapped },
      unavailable,
      skipToTier(2),
    ],
    [
      '7: anything else',
      { nonRetryableExceptions: [ValidationError], skipToTierMapping: mapped },
      'a text',
      nextTier(),
    ],
  ])('%s', (_, options, thrown, decision) => {
    expect(decide(options, thrown)).toEqual(decision)
  })

  test('look along the whole cause chain, so that a configured error is found however it is wrapped', () => {
    const thrown = new RateLimitError('outer', {
      cause: new AggregateError([new Error('a'), new ValidationError('b')]),
    })
    expect(
      decide({ nonRetryableExceptions: [ValidationError], retryableExceptions: [RateLimitError] }, thrown),
    ).toEqual(deadLetter())
    expect(decide({ skipToTierMapping: [[ValidationError, 2]] }, thrown)).toEqual(skipToTier(2))
    expect(decide({ retryableExceptions: [ValidationError] }, thrown)).toEqual(nextTier())
  })

  test('take predicates', () => {
    const classify = createExceptionClassifier({ nonRetryableExceptions: [isTeapot] })
    expect(classify({ response: { status: 418 } }, 0)).toEqual(deadLetter())
    expect(classify(new Error('no response'), 0)).toEqual(nextTier())
  })
})

describe('a record only moves forward', () => {
  test.each([
    ['before the target', 1, skipToTier(2)],
    ['at the target', 2, nextTier()],
    ['beyond the target', 3, nextTier()],
  ])('through an extended failure %s', (_, currentTier, decision) => {
    expect(decide({}, unavailable, currentTier)).toEqual(decision)
  })

  test('also where a custom classifier sends it back', () => {
    expect(decide({ classifier: () => skipToTier(1) }, reset, 1)).toEqual(nextTier())
  })

  test('whatever is configured', () => {
    const anyTier = fc.integer({ min: 1, max: 5 })
    fc.assert(
      fc.property(
        anyTier,
        fc.integer({ min: 0, max: 6 }),
        fc.constantFrom(reset, unavailable),
        (tier, current, thrown) => {
          const { routing, targetTier } = decide({ skipToTierMapping: { ECONNRESET: tier } }, thrown, current)
          expect(routing === 'NEXT_TIER' ? targetTier === -1 : targetTier > current).toBe(true)
        },
      ),
    )
  })
})

describe('a custom classifier', () => {
  test('sees what was thrown and the tier it failed in', () => {
    const seen: unknown[] = []
    const classify = createExceptionClassifier({
      classifier: (thrown, currentTier) => {
        seen.push(thrown, currentTier)
        return deadLetter()
      },
    })
    expect(classify(reset, 2)).toEqual(deadLetter())
    expect(seen).toEqual([reset, 2])
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('a bug')
      },
    ],
    ['answers nonsense', () => ({ routing: 'RETRY' })],
    ['answers a tier that cannot be', () => ({ routing: 'SKIP_TO_TIER', targetTier: 0 })],
    ['answers a promise', () => Promise.resolve(deadLetter())],
    ['answers a promise that rejects', () => Promise.reject(new Error('late'))],
  ])('that %s is passed over, and logged', (_, classifier) => {
    const lines: string[] = []
    const logger = { ...noopLogger, warn: (__: object, text: string) => void lines.push(text) }
    const options = { classifier, skipToTierMapping: { ECONNRESET: 2 } } as ExceptionOptions
    expect(createExceptionClassifier(options, logger)(reset, 0)).toEqual(skipToTier(2))
    expect(lines).toEqual([expect.stringContaining('the table decides')])
  })
})

describe('whatever a handler throws', () => {
  const classifiers = [
    createExceptionClassifier(),
    createExceptionClassifier({
      retryableExceptions: ['A', TypeError, (error) => (error as Error).message === 'x'],
      nonRetryableExceptions: ['B', RangeError, (error) => (error as { deep: { er: number } }).deep.er === 1],
      skipToTierMapping: [[SyntaxError, 2]],
    }),
  ]

  test.each(Object.entries(hostile))('the classifier answers: %s', (_, make) => {
    for (const classify of classifiers) expect(isRoutingDecision(classify(make(), 0))).toBe(true)
  })

  test('the classifier answers for any value', () => {
    const anyThrown = fc.oneof(
      fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withMap: true }),
      fc.anything().map((cause) => new Error('x', { cause })),
      fc.array(fc.anything()).map((errors) => new AggregateError(errors)),
    )
    fc.assert(
      fc.property(anyThrown, fc.integer({ min: 0, max: 3 }), (thrown, tier) => {
        for (const classify of classifiers) expect(isRoutingDecision(classify(thrown, tier))).toBe(true)
      }),
    )
  })
})
