import { resolveOptions } from '../option/resolve-options.ts'
import { integer } from '../option/rule.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import type { RequestStore } from './request-store.ts'

/** Options of {@link createMemoryRequestStore}. */
export interface MemoryRequestOptions {
  /** How many marks are kept. Above it the oldest are forgotten. @defaultValue 100,000 */
  readonly maxMarks?: number | undefined
}

const optionRules = {
  maxMarks: integer({ default: 100_000, min: 1, because: 'some ten megabytes' }),
}

/**
 * Marks of requests in the memory of this process: a restart forgets them, and other nodes do not see them. For tests,
 * and for a service of one process whose database rejects a second row with the same key.
 */
export function createMemoryRequestStore(
  options: MemoryRequestOptions = {},
  clock: Pick<Clock, 'monotonic'> = systemClock,
): RequestStore {
  const { maxMarks } = resolveOptions('createMemoryRequestStore', optionRules, options)
  // A Map keeps the order of insertion, so the mark that was set first is always the first.
  const marks = new Map<string, { readonly mark: string; readonly endsAt: number }>()

  const present = (name: string): string | null => {
    const found = marks.get(name)
    if (found === undefined || clock.monotonic() < found.endsAt) return found?.mark ?? null
    marks.delete(name)
    return null
  }

  function forgetOldest(): void {
    for (const [name, { endsAt }] of marks) {
      if (marks.size <= maxMarks && clock.monotonic() < endsAt) return
      marks.delete(name)
    }
  }

  return {
    read: async (name) => present(name),
    async compareAndSet(name, expected, mark, ttlMs) {
      if (present(name) !== expected) return false
      marks.delete(name)
      marks.set(name, { mark, endsAt: clock.monotonic() + ttlMs })
      forgetOldest()
      return true
    },
    async compareAndDelete(name, expected) {
      return present(name) === expected && marks.delete(name)
    },
  }
}
