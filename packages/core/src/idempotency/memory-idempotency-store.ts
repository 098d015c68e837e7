import { resolveOptions } from '../option/resolve-options.ts'
import { durationMs, integer } from '../option/rule.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import type { IdempotencyStore } from './idempotency-store.ts'
import { markName } from './mark-name.ts'

/** Options of {@link createMemoryIdempotencyStore}. */
export interface MemoryIdempotencyOptions {
  /** How many marks are kept. Above it the oldest are forgotten, and a repeat of these has its effect again. @defaultValue 100,000 */
  readonly maxMarks?: number | undefined
  /** How long a mark is kept. @defaultValue 24 hours */
  readonly retentionMs?: number | undefined
}

const optionRules = {
  maxMarks: integer({ default: 100_000, min: 1, because: 'some ten megabytes' }),
  retentionMs: durationMs({
    default: 86_400_000,
    min: 1,
    because: 'repeats come from restarts and rebalances, within minutes; a day leaves room for an operator',
  }),
}

/**
 * Marks in the memory of this process: a restart forgets them, and other nodes do not see them. For tests, and for
 * effects where a repeat after a restart does no harm.
 */
export function createMemoryIdempotencyStore(
  options: MemoryIdempotencyOptions = {},
  clock: Pick<Clock, 'now'> = systemClock,
): IdempotencyStore {
  const { maxMarks, retentionMs } = resolveOptions('createMemoryIdempotencyStore', optionRules, options)
  // By when it was marked: a Map keeps the order of insertion, so the oldest mark is always the first.
  const marks = new Map<string, number>()

  function forgetOldest(now: number): void {
    for (const [name, markedAt] of marks) {
      if (marks.size <= maxMarks && now - markedAt < retentionMs) return
      marks.delete(name)
    }
  }

  return {
    async seen(consumer, key) {
      forgetOldest(clock.now())
      return marks.has(markName(consumer, key))
    },
    async mark(consumer, key) {
      const now = clock.now()
      const name = markName(consumer, key)
      marks.delete(name)
      marks.set(name, now)
      forgetOldest(now)
    },
  }
}
