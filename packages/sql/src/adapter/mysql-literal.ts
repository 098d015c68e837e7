/**
 * Wraps values for mysql2 to inline into a statement's text. mysql2 sends no separate parameters and escapes with
 * backslashes: under the SQL mode NO_BACKSLASH_ESCAPES, which any session may set, a quote in a value would end the
 * literal and allow SQL injection. These forms mean the same in every mode.
 */
export function mysqlLiterals(values: readonly unknown[]): unknown[] {
  return values.map((value) => (typeof value === 'string' ? new TextLiteral(value) : value))
}

/** mysql2 treats an object with toSqlString as a piece of SQL. */
class TextLiteral {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toSqlString(): string {
    // Only backslashes are read differently: without them, doubling the quotes suffices.
    if (!this.#text.includes('\\')) return `'${this.#text.replaceAll("'", "''")}'`
    return `_utf8mb4 X'${Buffer.from(this.#text, 'utf8').toString('hex')}'`
  }
}
