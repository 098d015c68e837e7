/** Behavior on a real database: consumers that race, and a rebuild while events arrive. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { applicationOperator } from '@waybill/core'
import { createProjectionStore, migrate, type SqlDatabase } from '@waybill/sql'
import { expect, test } from 'vitest'
import { createProjector } from '../../src/projector/create-projector.ts'
import { tableOf } from '../../src/projector/live-build.ts'
import { auditedRebuild } from '../../src/rebuild/create-rebuild.ts'
import { resolveRebuildOptions } from '../../src/rebuild/rebuild-options.ts'
import { TableRebuild } from '../../src/rebuild/table-rebuild.ts'
import { balances } from '../test-accounts.ts'
import { recordOf } from '../test-records.ts'
import { hastyRuntime, TestLog } from './test-log.ts'

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
      for await (const { state } of rebuild.run(applicationOperator())) if (state === 'LIVE') break
    } finally {
      isDone = true
      await Promise.all([writing, reading])
    }
    const builds = await store.builds('account_balance')
    expect(builds.map(({ state }) => state)).toEqual(['RETIRED', 'LIVE'])
    const rows = await store.scan(tableOf(balances, 2), null, 100)
    const state = { balance: String((version - 1) * 3), currency: 'EUR', status: 'OPENED' }
    expect(rows).toEqual(keys.map((key) => ({ key, version, state, isQuarantined: false })))
    expect(seen).toEqual(seen.toSorted((one, other) => one - other))
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
