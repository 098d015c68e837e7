import { NoTransactionError } from '@waybill/core'
import { expect, test } from 'vitest'
import { isEndedTransaction } from '../../src/error/ended-transaction.ts'

const postgres = (code: string): Error => Object.assign(new Error(code), { code, severity: 'ERROR' })
const mysql = (errno: number): Error => Object.assign(new Error(String(errno)), { errno, sqlState: '42000' })
const sqlite = (text: string): Error => Object.assign(new Error(text), { code: 'ERR_SQLITE_ERROR', errcode: 1 })

test.each([
  ['no such savepoint on PostgreSQL', postgres('3B001')],
  ['no transaction on PostgreSQL', postgres('25P01')],
  ['no such savepoint on MySQL', mysql(1305)],
  ['no such savepoint on SQLite', sqlite('no such savepoint: waybill_1')],
  ['no transaction by the last word of the server', new NoTransactionError()],
  ['what a library has wrapped', new Error('Failed query', { cause: postgres('3B001') })],
])('%s proves that the transaction is over', (_, error) => {
  expect(isEndedTransaction(error)).toBe(true)
})

test.each([
  ['a time limit of the client', new Error('Query read timeout')],
  ['a lost connection', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })],
  ['a killed session on PostgreSQL', postgres('57P01')],
  ['a time limit of the server', postgres('57014')],
  ['a failed transaction, which is open still', postgres('25P02')],
  ['a killed connection on MariaDB', mysql(1927)],
  ['a busy database on SQLite', Object.assign(sqlite('database is locked'), { errcode: 5 })],
  ['nothing', undefined],
])('%s proves nothing', (_, error) => {
  expect(isEndedTransaction(error)).toBe(false)
})
