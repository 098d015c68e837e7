import { DatabaseSync } from 'node:sqlite'
import { applicationOperator } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import {
  createOutboxStore,
  createProjectionStore,
  fromMysql2,
  fromPg,
  fromSqlite,
  migrate,
  outboxHistory,
  type SqlDatabase,
} from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'
import { RebuildRefusedError } from '../../src/definition/projection-errors.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { tableOf } from '../../src/projector/live-build.ts'
import { auditedRebuild } from '../../src/rebuild/create-rebuild.ts'
import { type RebuildOptions, resolveRebuildOptions } from '../../src/rebuild/rebuild-options.ts'
import type { EventHistory } from '../../src/rebuild/rebuild-source.ts'
import { TableRebuild } from '../../src/rebuild/table-rebuild.ts'
import { accounts, balances } from '../test-accounts.ts'
import { hastyRuntime, TestLog } from './test-log.ts'

const operator = applicationOperator()
const keys = ['a', 'b', 'c']
const versions = 5
/** Events that the topic has lost. */
const cut = 9n

/** Declares the tests. Each database is empty at first. */
function historyTests<Tx>(open: () => SqlDatabase<Tx>): void {
  /** Writes events to the outbox; all are published, and the topic has lost the first ones. */
  async function setUp() {
    const database = open()
    await migrate(database, { tables: { inbox: false, projection: 'projection' } })
    const send = (text: string) => database.connection((connection) => connection.query(text, []))
    const outbox = Outbox.writerOnly({ events: accounts, database, store: createOutboxStore(database) })
    for (let aggregateVersion = 1; aggregateVersion <= versions; aggregateVersion++)
      for (const accountId of keys)
        await database.transaction((tx) =>
          aggregateVersion === 1
            ? outbox.write(tx, 'AccountOpened', { accountId, balance: '0', currency: 'EUR' }, { aggregateVersion })
            : outbox.write(tx, 'FundsCredited', { accountId, amount: '7' }, { aggregateVersion }),
        )
    await send('UPDATE outbox_event SET status = 1')
    const history = outboxHistory(database, { events: accounts, rowsPerRead: 2 })
    const log = new TestLog(1)
    for await (const { position: _, ...record } of history(0n))
      log.append(0, { topic: 'accounts', partition: 0, offset: 0n, timestamp: 0, epoch: 1, ...record })
    const store = createProjectionStore(database)
    for (const projector = createProjector(balances, { store }); (await log.deliver(projector)) > 0; );
    log.starts = [cut]
    const rebuildOf = (options: Partial<RebuildOptions>) => {
      const kafka = { reader: () => {} } as never
      const resolved = resolveRebuildOptions({ store, kafka, runtime: hastyRuntime(), again: true, ...options })
      return auditedRebuild(new TableRebuild(balances as never, resolved, log), 'account_balance', resolved)
    }
    return { send, store, history, log, rebuildOf }
  }

  test('kept outbox rows are the first events of a rebuild, which is limited in its rate, continues after a kill, and is refused where a purge has removed first rows', async () => {
    const { send, store, history, rebuildOf } = await setUp()
    // The topic has the last events: whether their rows are kept, or are pending again, changes nothing.
    await send('UPDATE outbox_event SET status = 0 WHERE seq > 13')
    const asked: bigint[] = []
    const [dying, halfway] = [new AbortController(), Promise.withResolvers<void>()]
    const noted: EventHistory = async function* (after) {
      asked.push(after)
      for await (const event of history(after)) {
        yield event
        if (!dying.signal.aborted && event.position === 8n) {
          dying.abort()
          halfway.resolve()
          return
        }
      }
    }
    const options = { history: noted, eventsPerSecond: 2, workers: 3 } as const
    for await (const _ of rebuildOf(options).run(operator, { signal: dying.signal }));
    await halfway.promise
    expect(await store.positions({ projection: 'account_balance', number: 2 })).toEqual([
      { topic: '@history', partition: 0, next: 8n },
    ])
    for await (const _ of rebuildOf({ ...options, switch: 'WHEN_READY' }).run(operator));
    expect(asked).toEqual([0n, 8n])
    const state = { balance: String((versions - 1) * 7), currency: 'EUR', status: 'OPENED' }
    const rows = await store.scan(tableOf(balances, 2), null, 10)
    expect(rows).toEqual(keys.map((key) => ({ key, version: versions, state, isQuarantined: false })))
    expect((await store.builds('account_balance')).map((build) => build.state)).toEqual(['RETIRED', 'LIVE'])

    // A purge removes the first rows of an aggregate: nothing is written then.
    expect(await history.incomplete()).toBeUndefined()
    await send("DELETE FROM outbox_event WHERE aggregate_id = 'b' AND seq < 6")
    expect(await history.incomplete()).toBe('the first rows of outbox_event are gone: "b" begins at version 3')
    await expect(rebuildOf({ history }).run(operator).next()).rejects.toThrow(RebuildRefusedError)
    expect(await store.builds('account_balance')).toHaveLength(2)
  })
}

describe('a history on SQLite', () => historyTests(() => fromSqlite(new DatabaseSync(':memory:'))))

describeWith('postgres')('a history on PostgreSQL', ({ postgres }) => {
  historyTests(() => fromPg(postgres.pool))
})

describeWith('mysql')('a history on MySQL or MariaDB', ({ mysql }) => historyTests(() => fromMysql2(mysql.pool)))
