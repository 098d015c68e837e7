/**
 * A condition for PostgreSQL with an estimate that its statistics have no part in.
 *
 * Statistics of a queue are stale most of the time. Believing that next to no row fits (`status = 0` of a table that was
 * empty or drained when it was looked at), the planner reads all that do, a million of them, and sorts them to find the
 * first five hundred. Of an expression it knows nothing: an inequality with one is believed to hold for a third of all
 * rows, a difference from a value for nearly all. So many, it thinks, that the shortest way to the first few is an index in
 * its order, which it always is. Conditions of partial indexes written this way are found only by the same words.
 */
export function believed(condition: string, rows: 'A_THIRD' | 'NEARLY_ALL'): string {
  return `(CASE WHEN ${condition} THEN 1 ELSE 0 END) ${rows === 'A_THIRD' ? '> 0' : '<> 0'}`
}
