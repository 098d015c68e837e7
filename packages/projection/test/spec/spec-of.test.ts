import { AssertionError } from 'node:assert'
import { describe, expect, test } from 'vitest'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { KeyQuarantinedError, VersionGapError } from '../../src/definition/projection-errors.ts'
import { specOf } from '../../src/spec/spec-of.ts'
import { account, accounts, balances, balancesByPosition } from '../test-accounts.ts'

const opened = ['AccountOpened', { accountId: 'a', balance: '10', currency: 'EUR' }] as const
const credited = ['FundsCredited', { accountId: 'a', amount: '5' }] as const
const closed = ['AccountClosed', { accountId: 'a' }] as const
const open = { balance: '10', currency: 'EUR', status: 'OPENED' } as const

describe('a specification', () => {
  test('tells the row of a key', async () => {
    await specOf(balances)
      .given(opened)
      .when(credited)
      .thenRow('a', { ...open, balance: '15' })
    await specOf(balances)
      .given(opened)
      .when(['AccountErased', { accountId: 'a' }])
      .thenRow('a', undefined)
    await expect(
      specOf(balances)
        .given(opened)
        .thenRow('a', { ...open, balance: '11' }),
    ).rejects.toThrow(AssertionError)
  })

  test('repeats, loses and swaps events', async () => {
    await specOf(balances)
      .given(opened)
      .when(credited)
      .repeated(2)
      .thenRow('a', { ...open, balance: '15' })
    await specOf(balances).given(opened, credited).lost().when(closed).thenThrows(VersionGapError)
    await specOf(balances).given(opened).when(credited, closed).reordered().thenRow('a', open)
    await specOf(balances).given(opened).when(credited, closed).reordered().thenThrows(KeyQuarantinedError)
    await specOf(balances)
      .given(opened)
      .when([...credited, { version: 3 }])
      .thenThrows(VersionGapError)
    await expect(specOf(balances).given(opened).thenThrows(VersionGapError)).rejects.toThrow(/no dead letter/)
  })
})

describe('chaos', () => {
  test.each([
    ['by version', balances],
    ['by position', balancesByPosition],
  ] as const)('%s changes no row', async (_, projection) => {
    const history = [opened, credited, credited, closed] as const
    const other = ['AccountOpened', { accountId: 'b', balance: '1', currency: 'USD' }] as const
    await specOf(projection)
      .given(...history, other)
      .thenHoldsUnderChaos()
  })

  test('keeps a gap a gap', async () => {
    await specOf(balances).given(opened, credited).lost().when(credited, closed).thenHoldsUnderChaos()
  })

  test('finds a fold that is not pure, and names the seed', async () => {
    let calls = 0
    const impure = defineProjection({
      name: 'impure',
      events: accounts,
      state: account,
      columns: { balance: 'decimal', currency: 'text', status: 'text' },
    }).on({ AccountOpened: () => ({ balance: String(calls++), currency: 'EUR', status: 'OPENED' }) })
    const spec = specOf(impure).given(opened).thenHoldsUnderChaos()
    await expect(spec).rejects.toThrow(/after seed 1 are not those of a quiet run/)
  })
})
