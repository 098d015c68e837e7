import type { StorableEvent } from './row/storable-event.ts'

/** SQLite binds at most 32,766 values per statement, and a row has up to fourteen. */
const mostRows = 1_000

/**
 * MariaDB accepts statements of 16 MiB by default, and a character may take six bytes (three bytes, in hexadecimal).
 */
const mostCharacters = 2_000_000

/** Splits rows into statements: nearly always one. */
export function* insertChunks(rows: readonly StorableEvent[]): Generator<readonly StorableEvent[]> {
  let chunk: StorableEvent[] = []
  let characters = 0
  for (const row of rows) {
    const length = row.payload.length + (row.headers?.length ?? 0)
    if (chunk.length > 0 && (chunk.length === mostRows || characters + length > mostCharacters)) {
      yield chunk
      chunk = []
      characters = 0
    }
    chunk.push(row)
    characters += length
  }
  if (chunk.length > 0) yield chunk
}
