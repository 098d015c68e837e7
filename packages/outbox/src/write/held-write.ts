import type { TxContext } from '@waybill/core'

/** A write that is ready to begin. */
export interface BegunWrite<T> {
  readonly tx: TxContext
  /** Called only if an error has to name the write. */
  readonly eventTypes: () => readonly string[]
  readonly work: () => Promise<T>
}

/**
 * Runs a write that holds its transaction's commit until it settles, if the transaction supports that. It returns the
 * transaction's own promise and none derived from it: see {@link TxContext.during}.
 *
 * @param begin the write rejects with the error it throws
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
