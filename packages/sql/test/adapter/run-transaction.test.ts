import { UnknownCommitError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { runTransaction, type TransactionSession } from '../../src/adapter/run-transaction.ts'
import { TransactionEndedError, TransactionRolledBackError } from '../../src/error/sql-errors.ts'

const refused = Object.assign(new Error('could not serialize'), { code: '40001', severity: 'ERROR' })
const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
const thrown = new Error('thrown by the work')

function session(faults: Partial<TransactionSession> = {}) {
  const calls: string[] = []
  const log = (name: 'begin' | 'rollback') => async (): Promise<unknown> => {
    calls.push(name)
    return faults[name]?.()
  }
  const made: TransactionSession = {
    begin: log('begin'),
    commit: async () => {
      calls.push('commit')
      return faults.commit === undefined ? 'COMMITTED' : faults.commit()
    },
    rollback: log('rollback'),
    brokenBy: faults.brokenBy ?? (() => undefined),
    release: (usable) => void calls.push(usable ? 'given back' : 'closed'),
  }
  return { calls, session: made }
}

const ok = async (): Promise<string> => 'value'
const fails = async (): Promise<string> => Promise.reject(thrown)
const rejects = (error: Error) => async (): Promise<never> => {
  throw error
}

describe('the ends of a transaction', () => {
  test('committed', async () => {
    const { session: made, calls } = session()
    expect(await runTransaction(made, ok)).toBe('value')
    expect(calls).toEqual(['begin', 'commit', 'given back'])
  })

  test.each<[what: string, faults: Partial<TransactionSession>, body: typeof ok, error: unknown, calls: string[]]>([
    ['BEGIN fails', { begin: rejects(reset) }, ok, reset, ['begin', 'closed']],
    ['the work throws', {}, fails, thrown, ['begin', 'rollback', 'given back']],
    [
      'the work throws, and so does ROLLBACK',
      { rollback: rejects(reset) },
      fails,
      thrown,
      ['begin', 'rollback', 'closed'],
    ],
    ...[new TransactionEndedError(), new TransactionRolledBackError()].flatMap(
      (found): [string, Partial<TransactionSession>, typeof ok, unknown, string[]][] => [
        [`${found.name}, and ROLLBACK is answered`, {}, rejects(found), found, ['begin', 'rollback', 'given back']],
        [
          `${found.name}, and ROLLBACK is not answered`,
          { rollback: rejects(reset) },
          rejects(found),
          found,
          ['begin', 'rollback', 'closed'],
        ],
      ],
    ),
    ['the connection broke before the work threw', { brokenBy: () => reset }, fails, thrown, ['begin', 'closed']],
    ['the connection broke before COMMIT', { brokenBy: () => reset }, ok, reset, ['begin', 'closed']],
    ['the server refuses COMMIT', { commit: rejects(refused) }, ok, refused, ['begin', 'commit', 'closed']],
  ])('%s', async (_, faults, body, error, expected) => {
    const { session: made, calls } = session(faults)
    await expect(runTransaction(made, body)).rejects.toBe(error)
    expect(calls).toEqual(expected)
  })

  test.each([
    ['was a rollback', 'ROLLED_BACK', TransactionRolledBackError],
    ['came after the end', 'ENDED_BEFORE', TransactionEndedError],
  ] as const)('COMMIT %s: the session is fine', async (_, end, error) => {
    const { session: made, calls } = session({ commit: async () => end })
    await expect(runTransaction(made, ok)).rejects.toThrow(error)
    expect(calls).toEqual(['begin', 'commit', 'given back'])
  })

  test('COMMIT without a response is unknown, and its session is not reused', async () => {
    const { session: made, calls } = session({ commit: rejects(reset) })
    const error: unknown = await runTransaction(made, ok).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(UnknownCommitError)
    expect(error).toHaveProperty('cause', reset)
    expect(calls).toEqual(['begin', 'commit', 'closed'])
  })
})
