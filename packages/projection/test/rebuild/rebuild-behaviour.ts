/** Behavior on a real database: consumers that race, and a rebuild while events arrive. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { applicationOperator } from '@waybill/core'
import { createProjectionStore, migrate, type SqlDatabase } from '@waybill/sql'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import type { AnyProjection } from '../../src/definition/projection.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { tableOf } from '../../src/projector/live-build.ts'
import { auditedRebuild } from '../../src/rebuild/create-rebuild.ts'
import { resolveRebuildOptions } from '../../src/rebuild/rebuild-options.ts'
import { type RebuildStatus, TableRebuild } from '../../src/rebuild/table-rebuild.ts'
import { accounts, balances } from '../test-accounts.ts'
import { recordOf } from '../test-records.ts'
import { hastyRuntime, TestLog } from './test-log.ts'

const operator = applicationOperator()
const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

/** Declares the tests. Each database is empty at first. */
export function rebuildTests<Tx>(open: () => Promise<SqlDatabase<Tx>> | SqlDatabase<Tx>): void {
  test('S3-009 consumers that race and a rebuild with its switch end with the fold of the events, and readers see every row', async () => {
    const database = await open()
    await migrate(database, { tables: { outbox: false, inbox: false, projection: 'projection' } })
    const store = createProjectionStore(database)
    const log = new TestLog(2)
    for (const [index, accountId] of keys.entries())
      log.append(index % 2, await recordOf('AccountOpened', { accountId, balance: '0', currency: 'EUR' }, 1, 0))
    const projectors = [0, 1].map(() => createProjector(balances, { store }))
    await log.deliver(projectors[0] as (typeof projectors)[0])

    let [version, isDone] = [1, false]
    const writing = (async () => {
      while (!isDone || version < 20) {
        version++
        for (const [index, accountId] of keys.entries())
          log.append(index % 2, await recordOf('FundsCredited', { accountId, amount: '3' }, version, 0))
        // Both get the same records, as before and after a rebalance.
        await Promise.all(projectors.map((projector) => log.repeatAll(projector, 40)))
        await log.deliver(projectors[version % 2] as (typeof projectors)[0], 50)
        await nextTurn()
      }
    })()
    const seen: number[] = []
    const reading = (async () => {
      while (!isDone) {
        const rows = await viewOf(database)
        expect(rows.length).toBe(keys.length)
        for (const row of rows) expect(row.balance).toBe((row.version - 1) * 3)
        seen.push(Math.min(...rows.map((row) => row.version)))
        // SQLite answers at once: without a turn for timers nothing else would run.
        await nextTurn()
      }
    })()
    const options = resolveRebuildOptions({
      store,
      kafka: { reader: () => {} } as never,
      runtime: hastyRuntime(),
      again: true,
      switch: 'WHEN_READY',
    })
    try {
      const rebuild = auditedRebuild(new TableRebuild(balances as never, options, log), balances.name, options)
      for await (const { state } of rebuild.run(operator)) if (state === 'LIVE') break
    } finally {
      isDone = true
      await Promise.all([writing, reading])
    }
    const builds = await store.builds('account_balance')
    expect(builds.map(({ state }) => state)).toEqual(['RETIRED', 'LIVE'])
    await auditedRebuild(new TableRebuild(balances as never, options, log), balances.name, options).dropRetired(
      operator,
    )
    // Both know the former table, which is gone now.
    await Promise.all(projectors.map((projector) => log.repeatAll(projector, 40).catch(() => {})))
    await Promise.all(projectors.map((projector) => log.repeatAll(projector, 40)))
    const rows = await store.scan(tableOf(balances, 2), null, 100)
    const state = { balance: String((version - 1) * 3), currency: 'EUR', status: 'OPENED' }
    expect(rows).toEqual(keys.map((key) => ({ key, version, state, isQuarantined: false })))
    expect(seen).toEqual(seen.toSorted((one, other) => one - other))
  })
}

/** Another revision: its key column has another name, one column is gone, one is new, one has another type. */
const counted = defineProjection({
  name: 'account_balance',
  revision: 2,
  events: accounts,
  state: z.object({ balance: z.number().int(), credits: z.number().int(), currency: z.string() }),
  columns: { balance: 'integer', credits: 'integer', currency: 'text' },
  keyColumn: 'account',
}).on({
  AccountOpened: (_, { payload }) => ({ balance: Number(payload.balance), credits: 0, currency: payload.currency }),
  FundsCredited: (state, { payload }) =>
    state && { ...state, balance: state.balance + Number(payload.amount), credits: state.credits + 1 },
})

/** Declares the tests of a revision with other columns. Each database is empty at first. */
export function revisionTests<Tx>(open: () => Promise<SqlDatabase<Tx>> | SqlDatabase<Tx>): void {
  test('a revision with other columns is compared with the live one, becomes live, and is rolled back', async () => {
    const database = await open()
    await migrate(database, { tables: { outbox: false, inbox: false, projection: 'projection' } })
    const store = createProjectionStore(database)
    const log = new TestLog(1)
    log.append(0, await recordOf('AccountOpened', { accountId: 'a', balance: '10', currency: 'EUR' }, 1, 0))
    log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '5' }, 2, 0))
    await log.deliver(createProjector(balances, { store }))
    const projector = createProjector(counted, { store, previous: [balances] })
    const rebuildOf = (projection: AnyProjection, previous: AnyProjection) => {
      const options = resolveRebuildOptions({
        store,
        kafka: { reader: () => {} } as never,
        runtime: hastyRuntime(),
        switch: 'WHEN_READY',
        previous: [previous],
      })
      return auditedRebuild(new TableRebuild(projection as never, options, log), projection.name, options)
    }
    const viewed = async () => {
      const { rows } = await database.connection((connection) => connection.query('SELECT * FROM account_balance', []))
      return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])))
    }
    let last: RebuildStatus | undefined
    for await (const status of rebuildOf(counted, balances).run(operator)) last = status
    expect(last).toMatchObject({ state: 'LIVE', verification: { rows: 1, builtRows: 1, differences: [] } })
    expect(await viewed()).toEqual([{ account: 'a', balance: '15', credits: '1', currency: 'EUR', version: '2' }])

    log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '1' }, 3, 0))
    await log.deliver(projector)
    expect(await viewed()).toEqual([{ account: 'a', balance: '16', credits: '2', currency: 'EUR', version: '3' }])
    const back = rebuildOf(balances, counted)
    await back.rollBack(operator)
    for await (const status of back.run(operator)) last = status
    expect(last).toMatchObject({ state: 'LIVE', build: 1, verification: { rows: 1, builtRows: 1, differences: [] } })
    expect((await viewed()).map(({ account_id, version, status }) => [account_id, version, status])).toEqual([
      ['a', '3', 'OPENED'],
    ])
  })
}

async function viewOf<Tx>(
  database: SqlDatabase<Tx>,
): Promise<readonly { readonly version: number; readonly balance: number }[]> {
  const { rows } = await database.connection((connection) =>
    connection.query('SELECT version, balance FROM account_balance ORDER BY account_id', []),
  )
  return rows.map((row) => ({ version: Number(row['version']), balance: Number(row['balance']) }))
}
