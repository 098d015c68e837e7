/** The response of a database to a failed statement, as reported by its driver. */
export type ServerAnswer =
  | { readonly server: 'POSTGRES'; readonly sqlState: string }
  | { readonly server: 'MYSQL'; readonly errno: number }
  | { readonly server: 'SQLITE'; readonly resultCode: number }

type Fields = Readonly<Record<string, unknown>>

/** The fields in which ORMs keep the driver's error: most in cause, TypeORM in driverError, Prisma in meta. */
const wrappings = ['cause', 'driverError', 'originalError', 'driverAdapterError', 'meta'] as const
const deepestWrapping = 8

/** Returns the server's response from an error or the errors it wraps; undefined if there is none. */
export function serverAnswerOf(error: unknown): ServerAnswer | undefined {
  for (const fields of wrappedIn(error)) {
    const answer = readAnswer(fields)
    if (answer !== undefined) return answer
  }
  return undefined
}

/** Yields an error and everything it wraps, from the outside in. Bounded, since a cause may lead back to its error. */
export function* wrappedIn(error: unknown, depth = 0): Generator<Fields> {
  if (typeof error !== 'object' || error === null || depth > deepestWrapping) return
  const fields = error as Fields
  yield fields
  for (const name of wrappings) yield* wrappedIn(fields[name], depth + 1)
}

function readAnswer(fields: Fields): ServerAnswer | undefined {
  const { code, errno, sqlState, errcode, originalCode, severity } = fields
  if (code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number') return { server: 'SQLITE', resultCode: errcode }
  // A socket error has a negative errno of its own, and no state.
  if (typeof sqlState === 'string' && typeof errno === 'number') return { server: 'MYSQL', errno }
  // A code of five characters alone could be a socket's (EPIPE).
  if (isSqlState(code) && typeof severity === 'string') return { server: 'POSTGRES', sqlState: code }
  // Prisma's driver adapters: the state on PostgreSQL, the number on MySQL.
  if (typeof originalCode === 'string' && /^\d{4}$/.test(originalCode)) {
    return { server: 'MYSQL', errno: Number(originalCode) }
  }
  if (isSqlState(originalCode)) return { server: 'POSTGRES', sqlState: originalCode }
  return undefined
}

function isSqlState(value: unknown): value is string {
  return typeof value === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(value)
}
