import { ArgumentError, UnknownCommitError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { classifySqlError, refusedByServer, type SqlFailure } from '../../src/error/classify-sql-error.ts'
import { ConnectionBusyError, TransactionEndedError, TransactionRolledBackError } from '../../src/error/sql-errors.ts'

const pg = (code: string) => Object.assign(new Error(code), { code, severity: 'ERROR' })
const mysql = (errno: number) => Object.assign(new Error(String(errno)), { errno, sqlState: 'HY000', code: 'ER_X' })
const sqlite = (errcode: number) => Object.assign(new Error('sqlite'), { code: 'ERR_SQLITE_ERROR', errcode })
const socket = (code: string, syscall = 'read') => Object.assign(new Error(code), { code, errno: -104, syscall })

type Expected = readonly [inTransaction: SqlFailure, onCommit: SqlFailure, autocommit: SqlFailure]
const lost: Expected = ['RETRIABLE', 'UNKNOWN', 'UNKNOWN']
const passing: Expected = ['RETRIABLE', 'RETRIABLE', 'RETRIABLE']
const permanent: Expected = ['PERMANENT', 'PERMANENT', 'PERMANENT']
const unknown: Expected = ['UNKNOWN', 'UNKNOWN', 'UNKNOWN']

const table: readonly (readonly [what: string, error: unknown, expected: Expected])[] = [
  ['PostgreSQL: deadlock', pg('40P01'), passing],
  ['PostgreSQL: serialization', pg('40001'), passing],
  ['PostgreSQL: lock not available', pg('55P03'), passing],
  ['PostgreSQL: statement limit', pg('57014'), passing],
  ['PostgreSQL: too many connections', pg('53300'), passing],
  ['PostgreSQL: read only', pg('25006'), passing],
  ['PostgreSQL: shutdown', pg('57P01'), lost],
  ['PostgreSQL: idle in transaction', pg('25P03'), lost],
  ['PostgreSQL: internal error', pg('XX000'), lost],
  ['PostgreSQL: duplicate key', pg('23505'), permanent],
  ['PostgreSQL: syntax', pg('42601'), permanent],
  ['PostgreSQL: permission', pg('42501'), permanent],
  ['MariaDB: deadlock', mysql(1213), passing],
  ['MariaDB: lock wait', mysql(1205), passing],
  ['MariaDB: record has changed', mysql(1020), passing],
  ['MariaDB: statement limit', mysql(1969), passing],
  ['MySQL: statement limit', mysql(3024), passing],
  ['MySQL: interrupted', mysql(1317), lost],
  ['MySQL: idle too long', mysql(4031), lost],
  ['MySQL: duplicate key', mysql(1062), permanent],
  ['SQLite: busy', sqlite(5), passing],
  ['SQLite: busy with a snapshot', sqlite(517), passing],
  ['SQLite: constraint', sqlite(2067), permanent],
  ['reset while a statement was under way', socket('ECONNRESET'), lost],
  ['broken pipe, five letters that are no SQLSTATE', socket('EPIPE'), lost],
  ['mysql2: connection lost', Object.assign(new Error('lost'), { code: 'PROTOCOL_CONNECTION_LOST' }), lost],
  ['pg: terminated, without any code', new Error('Connection terminated unexpectedly'), lost],
  ['pg: client-side time limit', new Error('Query read timeout'), lost],
  ['refused: nothing was sent', socket('ECONNREFUSED', 'connect'), passing],
  ['unknown host: nothing was sent', socket('ENOTFOUND', 'getaddrinfo'), passing],
  ['a commit without an answer', new UnknownCommitError(socket('ECONNRESET')), unknown],
  ['a commit that was a rollback', new TransactionRolledBackError(), permanent],
  ['a commit of what had ended before', new TransactionEndedError(), permanent],
  ['a connection in use by the application', new ConnectionBusyError('busy'), passing],
  ['a mistake in a program', new TypeError('undefined is not a function'), permanent],
  ['a refusal of our own', new ArgumentError('too long'), permanent],
  ['wrapped by Drizzle and most others', new Error('Failed query', { cause: pg('40001') }), passing],
  ['wrapped by TypeORM', Object.assign(new Error('QueryFailedError'), { driverError: mysql(1213) }), passing],
  [
    'wrapped by Prisma',
    Object.assign(new Error('P2010'), {
      code: 'P2010',
      meta: { driverAdapterError: Object.assign(new Error(), { cause: { originalCode: '23505' } }) },
    }),
    permanent,
  ],
]

describe('classifySqlError', () => {
  test.each(table)('%s', (_, error, expected) => {
    const classes = (['IN_TRANSACTION', 'COMMIT', 'AUTOCOMMIT'] as const).map((statement) =>
      classifySqlError(error, statement),
    )
    expect(classes).toEqual(expected)
  })

  test('an error that is its own cause is read once', () => {
    const circular = new Error('circular')
    circular.cause = circular
    expect(classifySqlError(circular, 'COMMIT')).toBe('UNKNOWN')
  })

  test('only an answer of the server says that COMMIT did not happen', () => {
    expect([pg('40001'), pg('23505'), mysql(1213), sqlite(5)].map(refusedByServer)).toEqual([true, true, true, true])
    const silent = [pg('57P01'), mysql(1053), socket('ECONNRESET'), new Error('Query read timeout'), 'text', null]
    expect(silent.map(refusedByServer)).toEqual(silent.map(() => false))
  })
})
