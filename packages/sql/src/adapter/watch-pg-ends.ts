/** The connection behind a pg client, which emits each response of the server. Not part of its types. */
interface Answers {
  on(event: 'commandComplete', listener: (answer: { readonly text?: unknown }) => void): unknown
  removeListener(event: 'commandComplete', listener: (answer: { readonly text?: unknown }) => void): unknown
}

export interface EndWatch {
  /** Whether a transaction may have ended or begun since the watch started. True if it is unknown. */
  mayHaveEnded(): boolean
  stop(): void
}

/**
 * Command tags that end or begin a transaction. A rollback to a savepoint has the same tag as that of a transaction.
 */
const endings = /^(BEGIN|START|COMMIT|ROLLBACK|PREPARE TRANSACTION)\b/

/**
 * Watches a pg client for any statement that ends a transaction; procedures and functions cannot end
 * one that was begun outside. It costs no statement. A client that emits no responses at all proves nothing.
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
