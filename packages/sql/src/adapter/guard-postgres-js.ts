import { StateError } from '@waybill/core'
import { endsTransaction } from './ends-transaction.ts'

/** The guarded functions of a handle. */
interface Statements {
  unsafe(text: string, ...rest: readonly unknown[]): unknown
  savepoint(...given: readonly unknown[]): unknown
}

/**
 * Returns the same handle of `sql.begin`, which rejects statements that would end the transaction. postgres.js returns
 * the connection to its pool as soon as the server reports that no transaction is open, while the handle still sends to
 * it: its statements, and finally its ROLLBACK or COMMIT, would reach the transaction of the connection's next user, or
 * wait forever in a queue that nothing empties any more.
 */
export function guardPostgresJs<Tx extends object>(sql: Tx): Tx {
  const statements = sql as unknown as Statements
  return new Proxy(sql, {
    apply(target, self, values: unknown[]) {
      const [strings] = values
      if (Array.isArray(strings) && 'raw' in strings) refuseEnd(strings.join(' '))
      return Reflect.apply(target as unknown as (...given: unknown[]) => unknown, self, values)
    },
    get(target, name) {
      if (name === 'unsafe') return unsafe(statements)
      if (name === 'savepoint') return savepoint(statements)
      return Reflect.get(target, name) as unknown
    },
  })
}

function unsafe(sql: Statements): Statements['unsafe'] {
  return (text, ...rest) => {
    refuseEnd(text)
    return sql.unsafe(text, ...rest)
  }
}

/** Guards the handle of a savepoint, too. Its name is optional. */
function savepoint(sql: Statements): Statements['savepoint'] {
  return (...given) =>
    sql.savepoint(
      ...given.map((value) =>
        typeof value === 'function' ? (inner: object): unknown => value(guardPostgresJs(inner)) : value,
      ),
    )
}

/** @throws a StateError before anything is sent */
function refuseEnd(text: string): void {
  if (!endsTransaction(text)) return
  throw new StateError('A transaction of database.transaction must not be ended by a statement with postgres.js', {
    impact: 'The statement was not sent. If the error reaches database.transaction, the transaction is rolled back.',
    hint: 'Throw to roll back, and return to commit. For two transactions, call database.transaction twice.',
  })
}
