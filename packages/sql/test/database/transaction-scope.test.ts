import { type SqlConnection, StateError } from '@waybill/core'
import { afterEach, expect, test, vi } from 'vitest'
import { TransactionScope } from '../../src/database/transaction-scope.ts'

const connection: SqlConnection = { query: async () => ({ rows: [], changed: 0 }) }

function opened(parent?: TransactionScope): TransactionScope {
  const scope = new TransactionScope(parent)
  scope.open(connection)
  return scope
}

afterEach(() => vi.restoreAllMocks())

test('callbacks run in the order they came, and each once', () => {
  const calls: string[] = []
  const scope = opened()
  scope.afterCommit(() => calls.push('first'))
  scope.afterRollback(() => calls.push('never'))
  scope.afterCommit(() => calls.push('second'))
  scope.commit()
  expect(calls).toEqual(['first', 'second'])
})

test('a callback that throws keeps no other from running, and is shown as a warning', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const calls: string[] = []
  const scope = opened()
  scope.afterCommit(() => {
    throw new Error('broken callback')
  })
  scope.afterCommit(() => calls.push('second'))
  scope.commit()
  expect(calls).toEqual(['second'])
  expect(warn).toHaveBeenCalledWith(
    expect.objectContaining({ cause: expect.objectContaining({ message: 'broken callback' }) }),
  )
})

test('it is active from open to close', () => {
  const scope = new TransactionScope()
  expect(scope.isTransactionActive()).toBe(false)
  expect(() => scope.currentConnection()).toThrow(StateError)
  scope.open(connection)
  expect(scope.isTransactionActive()).toBe(true)
  scope.close()
  expect(scope.isTransactionActive()).toBe(false)
  expect(() => scope.afterRollback(() => {})).toThrow(StateError)
})

test('a savepoint ends with its transaction', () => {
  const outer = opened()
  const inner = opened(outer)
  outer.close()
  expect(inner.isTransactionActive()).toBe(false)
})

test('a statement sent now belongs to the innermost savepoint', () => {
  const outer = opened()
  expect(outer.innermost).toBe(outer)
  const inner = opened(opened(outer))
  expect(outer.innermost).toBe(inner)
  expect(inner.depth).toBe(2)
  inner.release()
  expect(outer.innermost).not.toBe(inner)
})

test('a savepoint inside a released savepoint hands its callbacks all the way up', () => {
  const calls: string[] = []
  const outer = opened()
  const middle = opened(outer)
  const inner = opened(middle)
  inner.afterCommit(() => calls.push('committed'))
  inner.release()
  middle.release()
  expect(calls).toEqual([])
  outer.commit()
  expect(calls).toEqual(['committed'])
})

test('a savepoint that was released is rolled back with the one around it', () => {
  const calls: string[] = []
  const outer = opened()
  const middle = opened(outer)
  const inner = opened(middle)
  inner.afterRollback((end) => calls.push(end))
  inner.afterCommit(() => calls.push('never'))
  inner.release()
  middle.rollback()
  expect(calls).toEqual(['ROLLED_BACK'])
  outer.commit()
  expect(calls).toEqual(['ROLLED_BACK'])
})
