/**
 * Values as mysql2 is to write them into a statement's text. It sends no parameters apart from the text, and escapes with
 * backslashes: under the SQL mode NO_BACKSLASH_ESCAPES, which any session may set, a quote in a value would then end the
 * text, and what follows it be run. These forms mean the same in every mode.
 */
export function mysqlLiterals(values: readonly unknown[]): unknown[] {
  return values.map((value) => (typeof value === 'string' ? new TextLiteral(value) : value))
}

/** mysql2 takes what has this method for a piece of SQL. */
class TextLiteral {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toSqlString(): string {
    // Only the backslash is read differently: where there is none, doubling the quotes is all.
    if (!this.#text.includes('\\')) return `'${this.#text.replaceAll("'", "''")}'`
    return `_utf8mb4 X'${Buffer.from(this.#text, 'utf8').toString('hex')}'`
  }
}
