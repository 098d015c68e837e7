import { defineEvents, OptionsError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { account, accounts, balances } from '../test-accounts.ts'

const columns = { balance: 'decimal', currency: 'text', status: 'text' } as const
const definition = { name: 'x', events: accounts, state: account, columns } as const

function violationsOf(run: () => unknown): string[] {
  try {
    run()
  } catch (error) {
    if (error instanceof OptionsError) return error.violations.map(({ path, problem }) => `${path} ${problem}`)
    throw error
  }
  return []
}

describe('a definition', () => {
  test('has its defaults', () => {
    expect(balances).toMatchObject({ revision: 1, versions: 'AGGREGATE', keyColumn: 'account_id' })
    expect(balances.columns['status']).toEqual({ type: 'text', isIndexed: true })
    expect(balances.columns['balance']).toEqual({ type: 'decimal', isIndexed: false })
  })

  test.each([
    ['a name for a file', { name: 'account-balance' }, /^name must be up to 40 letters/],
    ['a revision below 1', { revision: 0 }, /^revision must be an integer from 1/],
    [
      'an unknown type',
      { columns: { ...columns, balance: 'decimals' } },
      /^columns\.balance must be .*did you mean decimal/,
    ],
    [
      'an unknown setting',
      { columns: { ...columns, balance: { type: 'text', index: true } } },
      /^columns\.balance\.index is not an option/,
    ],
    [
      'a column of every table',
      { columns: { ...columns, version: 'integer' } },
      /^columns\.version is the name of a column of every projection/,
    ],
    ['the key column', { columns: { ...columns, ID: 'text' } }, /^columns\.ID is the name of the key column/],
    [
      'columns that databases cannot tell apart',
      { columns: { ...columns, Status: 'text' } },
      /^columns must differ in more than upper and lower case/,
    ],
    [
      'an index that databases cannot have',
      { columns: { ...columns, balance: { type: 'json', isIndexed: true } } },
      /^columns\.balance\.isIndexed must be false for json and bytes/,
    ],
    ['the name of a table of another projection', { name: 'account_b2' }, /^name must not end with _b and digits/],
    ['no schema', { state: {} }, /^state must be a Standard Schema/],
  ])('with %s is rejected', (_, change, problem) => {
    const [first, ...others] = violationsOf(() => defineProjection({ ...definition, ...change } as never))
    expect(first).toMatch(problem)
    expect(others).toEqual([])
  })

  test('without a fold for any event is rejected', () => {
    expect(violationsOf(() => defineProjection(definition).on({}))).toEqual([
      ' must have a function for at least one event',
    ])
    expect(violationsOf(() => defineProjection(definition).on({ AccountOpend: () => undefined } as never))).toEqual([
      'AccountOpend is not an option; did you mean AccountOpened?',
    ])
  })
})

function onto(functions: object): string {
  return defineProjection(definition).on(functions).fingerprint
}

describe('the fingerprint', () => {
  const fold = { AccountClosed: () => undefined }
  const of = (change: object): string => defineProjection({ ...definition, ...change }).on(fold).fingerprint

  test('changes with the columns, and not with the revision', () => {
    expect(of({ revision: 2 })).toBe(of({}))
    expect(of({ columns: { ...columns, status: { type: 'text', isIndexed: true } } })).not.toBe(of({}))
    expect(of({ keyColumn: 'account_id' })).not.toBe(of({}))
  })

  test('changes with the functions, and not with events that have none', () => {
    expect(onto({ ...fold, AccountOpened: () => undefined })).not.toBe(onto(fold))
    expect(onto({ AccountOpened: () => undefined, ...fold })).toBe(onto({ ...fold, AccountOpened: () => undefined }))
    const more = defineEvents({
      ...accounts.definitions,
      AccountSeen: {
        topic: 'accounts',
        schema: z.object({ accountId: z.string() }),
        key: ({ accountId }) => accountId,
      },
    })
    expect(of({ events: more })).toBe(of({}))
  })
})
