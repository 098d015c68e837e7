/** Keeps rows where they are while a user is about to click one. */

/** Rows as they are shown. */
export interface HeldRows<T> {
  readonly shown: readonly T[]
  /** Rows that came meanwhile. */
  readonly waiting: number
}

/**
 * Returns rows in the order of before: those that are gone leave, new ones wait, the others have their new values.
 * @param order - keys as they were shown; undefined: nothing is held
 */
export function heldRows<T>(
  rows: readonly T[],
  keyOf: (row: T) => string,
  order: readonly string[] | undefined,
): HeldRows<T> {
  if (order === undefined) return { shown: rows, waiting: 0 }
  const byKey = new Map(rows.map((row) => [keyOf(row), row]))
  const shown = order.flatMap((key) => byKey.get(key) ?? [])
  return { shown, waiting: rows.length - shown.length }
}
