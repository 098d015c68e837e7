import { ArgumentError } from '../errors.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { integer, number } from '../option/rule.ts'
import { showValue } from '../option/show-value.ts'
import { BloomFilter } from './bloom-filter.ts'
import type { IdempotencyStore } from './idempotency-store.ts'
import { markName } from './mark-name.ts'

/** One mark of a store. */
export interface Mark {
  readonly consumer: string
  readonly key: string
}

/** Options of {@link createBloomCheckedStore}. */
export interface BloomCheckOptions {
  /** Marks that the filter holds before it is wrong more often. @defaultValue 1,000,000 */
  readonly expectedMarks?: number | undefined
  /** Looks that the store is asked for although there is no mark, of all of these. @defaultValue 0.01 */
  readonly falsePositiveRate?: number | undefined
}

/** A store behind a filter. */
export interface BloomCheckedStore extends IdempotencyStore {
  /**
   * Takes over the marks that are in the store; from then on the filter spares looks. Whatever is marked through this
   * store meanwhile is in it too. Rejects with what reading throws: the store is then asked about everything, as before.
   */
  load(marks: Iterable<Mark> | AsyncIterable<Mark>): Promise<void>
}

const optionRules = {
  expectedMarks: integer({ default: 1_000_000, min: 1, max: 100_000_000, because: '1.2 MB, and 120 MB at most' }),
  falsePositiveRate: number({ default: 0.01, above: 0, max: 0.5, because: 'ten bits for a mark' }),
}

/**
 * Spares an exact store the looks for what was never marked: most records are new, and a filter in memory knows that of
 * them. It never decides that something is seen: a possible hit is looked up in the store, so that no record is lost.
 *
 * That nothing is there holds only as long as the filter knows of every mark. So this process has to be the only one that
 * marks for its consumers, and the filter is empty-handed until {@link BloomCheckedStore.load}: before it, every look goes
 * to the store. Several members of a group in several processes mark for each other: give them the store itself.
 */
export function createBloomCheckedStore(store: IdempotencyStore, options: BloomCheckOptions = {}): BloomCheckedStore {
  const { expectedMarks, falsePositiveRate } = resolveOptions('createBloomCheckedStore', optionRules, options)
  const filter = new BloomFilter(expectedMarks, falsePositiveRate)
  let isLoaded = false
  return {
    async seen(consumer, key) {
      if (isLoaded && !filter.mayHave(markName(consumer, key))) return false
      return store.seen(consumer, key)
    },
    mark(consumer, key) {
      // First: a mark whose answer is lost may be there all the same.
      filter.add(markName(consumer, key))
      return store.mark(consumer, key)
    },
    missing: async () => store.missing?.(),
    async load(marks) {
      requireIterable(marks)
      for await (const mark of marks) filter.add(markName(...partsOf(mark)))
      isLoaded = true
    },
  }
}

function requireIterable(marks: unknown): void {
  const { [Symbol.iterator]: each, [Symbol.asyncIterator]: eachInTime } = Object(marks) as Record<symbol, unknown>
  if (each === undefined && eachInTime === undefined) throw wrongMarks(marks)
}

function partsOf(mark: Mark): [consumer: string, key: string] {
  const { consumer, key } = Object(mark) as Mark
  if (typeof consumer !== 'string' || typeof key !== 'string') throw wrongMarks(mark)
  return [consumer, key]
}

function wrongMarks(given: unknown): ArgumentError {
  return new ArgumentError(`load takes marks, objects with the texts consumer and key, not ${showValue(given)}.`, {
    impact: 'The store is asked about everything, as before.',
  })
}
