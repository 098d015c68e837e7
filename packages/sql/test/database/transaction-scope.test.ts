import { NoTransactionError, StateError, WorkNotAwaitedError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { afterEach, describe, expect, test, vi } from 'vitest'
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

test('a savepoint that another one has followed leaves that one in its place when it is released', () => {
  const outer = opened()
  const first = opened(outer)
  first.close()
  const second = opened(outer)
  first.release()
  expect(outer.innermost).toBe(second)
})

const never = new Promise<never>(() => {})

describe('a savepoint whose transaction ends first', () => {
  test('ends with it, whatever its work still does', async () => {
    const outer = opened()
    const nested = opened(outer).withinParent(never)
    outer.close()
    await expect(nested).rejects.toThrow(NoTransactionError)
  })

  test('does not open any more', () => {
    const outer = opened()
    const nested = new TransactionScope(outer)
    outer.close()
    expect(() => nested.open(connection)).toThrow(NoTransactionError)
  })
})

describe('the end of the work', () => {
  test('is no end while a write is under way, and the error names what is', () => {
    const scope = opened()
    void scope.during(
      () => 'the write of order.placed',
      () => never,
    )
    expect(() => scope.requireNothingUnderWay()).toThrow(WorkNotAwaitedError)
    expect(() => scope.requireNothingUnderWay()).toThrow('the write of order.placed')
  })

  test.each([
    ['succeeded', () => Promise.resolve()],
    ['failed', () => Promise.reject(new Error('refused'))],
  ])('is one as soon as the code that awaits a write that %s continues', async (_, work) => {
    const scope = opened()
    await scope.during(() => 'a write', work).catch(() => {})
    expect(() => scope.requireNothingUnderWay()).not.toThrow()
  })

  test('is no end while a nested transaction is under way', () => {
    const outer = opened()
    void outer.around(() => never)
    expect(() => outer.requireNothingUnderWay()).toThrow('before something in it: a nested transaction.')
  })

  test('waits until a nested transaction has ended too', async () => {
    const nested = Promise.withResolvers<void>()
    const outer = opened()
    const running = outer.around(() => nested.promise)
    const trail: string[] = []
    const answered = outer.answered().then(() => trail.push('answered'))
    await new Promise((resolve) => setImmediate(resolve))
    trail.push('nested ended')
    nested.resolve()
    await Promise.all([running, answered])
    expect(trail).toEqual(['nested ended', 'answered'])
  })
})

describe('a connection that was handed out', () => {
  test('sends nothing any more once its transaction is being ended', async () => {
    const sent: string[] = []
    const scope = new TransactionScope()
    scope.open({
      query: async (text) => {
        sent.push(text)
        return { rows: [], changed: 0 }
      },
    })
    const kept = scope.currentConnection()
    await kept.query('first', [])
    scope.close()
    await expect(kept.query('second', [])).rejects.toThrow(NoTransactionError)
    expect(sent).toEqual(['first'])
  })

  test('is waited for until what it has sent was answered, whatever the answer', async () => {
    const answer = Promise.withResolvers<never>()
    const scope = new TransactionScope()
    scope.open({ query: () => answer.promise })
    const sent = scope.currentConnection().query('insert', [])
    scope.close()
    const trail: string[] = []
    const answered = scope.answered().then(() => trail.push('answered'))
    await new Promise((resolve) => setImmediate(resolve))
    trail.push('refused')
    answer.reject(new Error('refused'))
    await expect(sent).rejects.toThrow('refused')
    await answered
    expect(trail).toEqual(['refused', 'answered'])
  })
})
