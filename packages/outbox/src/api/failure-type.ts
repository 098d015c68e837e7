/**
 * The cause of a failed attempt, as stored with the row: the connection, an answer that did not come in time, the event
 * itself, or anything else.
 */
export type FailureType = 'NETWORK' | 'TIMEOUT' | 'VALIDATION' | 'SYSTEM'

const stored = /^\[(NETWORK|TIMEOUT|VALIDATION|SYSTEM)\] /

/**
 * Returns the text of last_error: the type in brackets, then the error. A column of its own would have to be added to a
 * table in use, which not every database can do repeatably, and versions without it could not share the table.
 */
export function errorWithType(error: string, type: FailureType | undefined): string {
  return type === undefined ? error : `[${type}] ${error}`
}

/** Splits a text of {@link errorWithType}. The type is null for one that an earlier version wrote. */
export function splitError(text: string): { readonly failureType: FailureType | null; readonly error: string } {
  const found = stored.exec(text)
  if (found === null) return { failureType: null, error: text }
  return { failureType: found[1] as FailureType, error: text.slice(found[0].length) }
}
