/** The part of the bound that one read may fill. */
const readsPerBound = 8

interface SizedRow {
  readonly bytes: number
}

/**
 * Divides the bound of bytes in memory into reads (I24). A read begins while less than the bound is in memory and
 * returns at most its part of it, or one row if that is larger.
 *
 * A database has to load a row to measure it, so a limit of 500 rows of a megabyte would cost half a gigabyte of work
 * for the few that fit. The rows of the last read tell how many fit; the store enforces the bytes.
 */
export class ReadBudget {
  readonly maxBytes: number
  /** The bytes of one read, without rows that are in memory already. */
  readonly readBytes: number
  #averageBytes = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.readBytes = Math.max(1, Math.floor(maxBytes / readsPerBound))
  }

  /** Returns the number of rows to ask for: at most `limit`, and at least one. */
  rows(limit: number): number {
    if (limit * this.#averageBytes <= this.readBytes) return limit
    return Math.max(1, Math.ceil(this.readBytes / this.#averageBytes))
  }

  /** Records the rows of a read, to estimate the next ones. */
  observe(rows: readonly SizedRow[]): void {
    if (rows.length > 0) this.#averageBytes = sumOfBytes(rows) / rows.length
  }
}

/** Whether a read may have left out rows because of their size. */
export function isCutAt(maxBytes: number, rows: readonly SizedRow[]): boolean {
  return sumOfBytes(rows) >= maxBytes
}

function sumOfBytes(rows: readonly SizedRow[]): number {
  let bytes = 0
  for (const row of rows) bytes += row.bytes
  return bytes
}
