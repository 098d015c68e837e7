import { StateError } from '@waybill/core'

/** The connection pool behind a library, as far as its size is concerned. */
export interface PoolSize {
  /** The driver's pool itself: everything that uses it shares its connections. */
  readonly pool: object
  /** The maximum that the driver reports; anything but a positive integer counts as unknown. */
  readonly max: unknown
}

const keptOf = new WeakMap<object, number>()

/** Returns the maximum number of connections; undefined if the driver does not tell. */
export function knownMax({ max }: PoolSize): number | undefined {
  const size = typeof max === 'string' ? Number(max) : max
  return typeof size === 'number' && Number.isInteger(size) && size > 0 ? size : undefined
}

/**
 * Counts a connection that is kept, until it is disposed.
 *
 * @param what what keeps it, as the subject of a sentence
 * @throws a StateError if no connection would be left for the application
 */
export function keepOneOf(size: PoolSize, what: string): Disposable {
  requireRoom(size, what)
  const { pool } = size
  const add = (count: number): void => void keptOf.set(pool, (keptOf.get(pool) ?? 0) + count)
  add(1)
  let isOver = false
  return {
    [Symbol.dispose]() {
      if (!isOver) add(-1)
      isOver = true
    },
  }
}

/** @throws a StateError if the pool is too small for one more kept connection beside the application */
export function requireRoom(size: PoolSize, what: string): void {
  const max = knownMax(size)
  const kept = keptOf.get(size.pool) ?? 0
  const needed = kept + 2
  if (max === undefined || max >= needed) return
  const others = kept === 0 ? '' : `, ${kept} ${kept === 1 ? 'is' : 'are'} kept already`
  throw new StateError(
    `The connection pool has a maximum of ${max}, and ${needed} are needed: ${what} keeps 1${others}, and the ` +
      'application needs at least 1.',
    {
      impact: 'Nothing was started.',
      hint:
        `Set the maximum of the pool to ${needed} or more: max in pg, postgres.js and Knex, connectionLimit in mysql2. ` +
        'Add one for each listener that uses the pool at the same time.',
    },
  )
}
