/** What a client of pg has behind it, which emits each of the server's answers. Not part of its types. */
interface Answers {
  on(event: 'commandComplete', listener: (answer: { readonly text?: unknown }) => void): unknown
  removeListener(event: 'commandComplete', listener: (answer: { readonly text?: unknown }) => void): unknown
}

export interface EndWatch {
  /** Whether a transaction may have ended, or begun, since the watch began. True where nobody can tell. */
  mayHaveEnded(): boolean
  stop(): void
}

/** How the server calls what it has done. A rollback to a savepoint is called as that of a transaction is. */
const endings = /^(BEGIN|START|COMMIT|ROLLBACK|PREPARE TRANSACTION)\b/

/**
 * Watches a client of pg for statements that end a transaction, whoever sends them: in a procedure or a function none can,
 * as long as the transaction was begun outside. It costs no statement. A client that shows no answers at all proves nothing.
 */
export function watchPgEnds(client: object): EndWatch {
  const { connection } = client as { connection?: Partial<Answers> }
  if (typeof connection?.on !== 'function' || typeof connection.removeListener !== 'function') {
    return { mayHaveEnded: () => true, stop: () => undefined }
  }
  const answers = connection as Answers
  let seen = 0
  let ends = 0
  const listener = ({ text }: { readonly text?: unknown }): void => {
    seen += 1
    if (typeof text !== 'string' || endings.test(text)) ends += 1
  }
  answers.on('commandComplete', listener)
  return {
    mayHaveEnded: () => seen === 0 || ends > 0,
    stop: () => void answers.removeListener('commandComplete', listener),
  }
}
