/**
 * Wraps a condition for PostgreSQL so that its estimate ignores statistics.
 *
 * Statistics of a queue are mostly stale. If they say that hardly any row matches (`status = 0` of a table that was
 * empty when analyzed), the planner reads and sorts all matches, possibly a million, to find the first five hundred. It
 * has no statistics on expressions: it estimates an inequality with one as true for a third of all rows, and `<>` as
 * true for nearly all. With that many it chooses the index in the requested order, which is always right. A partial
 * index whose condition is written this way matches only the same text.
 */
export function believed(condition: string, rows: 'A_THIRD' | 'NEARLY_ALL'): string {
  return `(CASE WHEN ${condition} THEN 1 ELSE 0 END) ${rows === 'A_THIRD' ? '> 0' : '<> 0'}`
}

/**
 * Returns a limit that the planner does not know. It then plans for a tenth of the matches, for which walking an index
 * in the requested order is cheaper than sorting them all. With a known limit of ten thousand and no statistics it sorts
 * up to a million rows instead.
 */
export function unknownLimit(placeholder: string): string {
  return `LIMIT (SELECT ${placeholder}::bigint)`
}
