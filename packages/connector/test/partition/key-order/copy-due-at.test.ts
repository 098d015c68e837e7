import { describe, expect, test } from 'vitest'
import { copyDueAtOf } from '../../../src/partition/key-order/copy-due-at.ts'

const clock = { now: () => 1_000_000, monotonic: () => 500 }
const tiers = [{ delayMs: 10_000 }, { delayMs: 60_000 }]

describe('a copy in the waiting topic', () => {
  test.each([
    ['a time to come is kept', 1, 1_004_000, 4_500],
    ['a time that has passed is now', 1, 900_000, 500],
    ['a time further ahead than the tier’s delay counts as that delay', 1, 2_000_000, 10_500],
    ['each tier has its own delay', 2, 2_000_000, 60_500],
    ['a tier that is no longer configured counts as the last one', 7, 2_000_000, 60_500],
    ['a record that waits behind another is due at once', 0, 2_000_000, 500],
  ])('%s', (_, tier, dueMs, expected) => {
    expect(copyDueAtOf({ tier, dueMs }, tiers, clock)).toBe(expected)
  })
})
