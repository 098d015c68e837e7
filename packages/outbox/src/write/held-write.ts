import type { TxContext } from '@waybill/core'

/** A write that can begin. */
export interface BegunWrite<T> {
  readonly tx: TxContext
  /** Asked only if the write has to be named. */
  readonly eventTypes: () => readonly string[]
  readonly work: () => Promise<T>
}

/**
 * A write in a transaction, which is not committed meanwhile, where that can be kept from it. The promise is the transaction's
 * own, and none made of it: see {@link TxContext.during}.
 *
 * @param begin the write rejects with what it throws
 */
export function heldWrite<T>(begin: () => BegunWrite<T>): Promise<T> {
  let write: BegunWrite<T>
  try {
    write = begin()
  } catch (error) {
    return Promise.reject(error)
  }
  const { tx, eventTypes, work } = write
  return tx.during === undefined ? work() : tx.during(() => writeOf(eventTypes()), work)
}

function writeOf(eventTypes: readonly string[]): string {
  const [first = 'an event', ...others] = new Set(eventTypes)
  return `the write of ${first}${others.length === 0 ? '' : ` and ${others.length} more`}`
}
