import { ArgumentError, deadLetter, nextTier, pauseContainer, skipToTier } from '@waybill/core'
import { isRetryable, isRoutingDecision } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

describe('a routing decision', () => {
  test.each([
    ['nextTier()', nextTier(), 'NEXT_TIER', -1],
    ['deadLetter()', deadLetter(), 'DEAD_LETTER', -1],
    ['pauseContainer()', pauseContainer(), 'PAUSE_CONTAINER', -1],
    ['skipToTier(3)', skipToTier(3), 'SKIP_TO_TIER', 3],
  ])('made by %s has its routing and target tier, and cannot be changed', (_, decision, routing, targetTier) => {
    expect(decision).toEqual({ routing, targetTier })
    expect(Object.isFrozen(decision)).toBe(true)
    expect(isRoutingDecision(decision)).toBe(true)
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('cannot skip to tier %d', (tier) => {
    expect(() => skipToTier(tier)).toThrow(ArgumentError)
  })

  test.each([
    [nextTier(), true],
    [skipToTier(2), true],
    [deadLetter(), false],
    [pauseContainer(), false],
  ])('%o allows attempts in memory first: %s', (decision, expected) => {
    expect(isRetryable(decision)).toBe(expected)
  })

  test.each([
    undefined,
    null,
    'NEXT_TIER',
    {},
    { routing: 'RETRY', targetTier: -1 },
    { routing: 'SKIP_TO_TIER' },
    { routing: 'SKIP_TO_TIER', targetTier: 0 },
    { routing: 'SKIP_TO_TIER', targetTier: '2' },
  ])('is not %o', (value) => {
    expect(isRoutingDecision(value)).toBe(false)
  })
})
