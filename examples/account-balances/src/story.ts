/** The steps of the example: commands, a repeat, an outage, an unsupported currency, a gap, and a comparison at the end. */

import { createConnector } from '@waybill/connector'
import { type AuditEntry, applicationOperator, createMemoryMetrics, noopLogger, runtimeWith } from '@waybill/core'
import { createPublisher, publishEvents } from '@waybill/kafka'
import { Outbox } from '@waybill/outbox'
import { createProjector, createQuarantine, deadEvents } from '@waybill/projection'
import { createOutboxStore, createProjectionStore, migrate } from '@waybill/sql'
import { eventually } from '@waybill/testkit'
import type { Account } from './account/account-table.ts'
import { accountBalances } from './balances.ts'
import { accountEvents } from './events.ts'
import { Ledger } from './ledger.ts'
import type { Stage } from './stage.ts'

/** The result of a run. */
export interface Ending {
  readonly ledger: readonly Account[]
  readonly readModel: readonly Account[]
  /** Events that were delivered again, and skipped. */
  readonly repeated: number
  readonly deadLetters: number
  readonly quarantined: readonly string[]
  /** The operations of operators that are in the audit log. */
  readonly audited: readonly string[]
}

const patient = { deadlineMs: 120_000, everyMs: 50 }
const operator = applicationOperator('the example')

/** Runs the example. */
export async function playStory<Tx>(stage: Stage<Tx>, say: (text: string) => void): Promise<Ending> {
  const { kafka, topic, accounts, view } = stage
  const events = accountEvents(topic)
  const balances = accountBalances(events)
  const metrics = createMemoryMetrics()
  const runtime = runtimeWith({ metrics, logger: noopLogger })
  const audited: AuditEntry[] = []
  const administration = { auditLog: { write: (entry: AuditEntry) => void audited.push(entry) } }

  // The write side: ledger and outbox share a database.
  await accounts.create()
  await migrate(accounts.database, { tables: { inbox: false } })
  await using outbox = Outbox.keyed({
    events,
    database: accounts.database,
    store: createOutboxStore(accounts.database),
    listeners: publishEvents(kafka, events),
    intervalMs: 50,
    runtime,
  })
  const ledger = new Ledger(accounts, outbox)

  // The read side: another database, another service.
  await migrate(view, { tables: { outbox: false, inbox: false, projection: 'projection' } })
  const store = createProjectionStore(view)
  const projector = createProjector(balances, { store, runtime })
  await projector.prepare()
  await using connector = createConnector({
    clusters: { default: kafka },
    bindings: { balances: projector.binding({ groupId: `${topic}.balances` }) },
    administration,
    runtime,
  })
  const quarantine = createQuarantine(balances, { store, administration, runtime })
  await outbox.start()
  await connector.start()

  const rowsOf = async (): Promise<readonly Account[]> => {
    const text =
      'SELECT account_id, balance, reserved, currency, status, version FROM account_balance ORDER BY account_id'
    const { rows } = await view.connection((connection) => connection.query(text, []))
    return rows.map((row) => ({
      accountId: String(row['account_id']),
      balance: Number(row['balance']),
      reserved: Number(row['reserved']),
      currency: String(row['currency']),
      status: row['status'] === 'CLOSED' ? 'CLOSED' : 'OPENED',
      version: Number(row['version']),
    }))
  }
  const upToDate = (): Promise<void> =>
    eventually(async () => {
      const rows = new Map((await rowsOf()).map((row) => [row.accountId, row.version]))
      for (const { accountId, version } of await accounts.all())
        if (rows.get(accountId) !== version) throw new Error(`${accountId} is at ${rows.get(accountId)} of ${version}`)
    }, patient)
  const deadLetters = async (): Promise<number> => (await connector.admin.dltStats('balances', operator)).count

  say(`1  A ledger on ${stage.called}`)
  await ledger.open('alice', 'EUR', 10_000)
  await ledger.open('bob', 'USD')
  await ledger.credit('bob', 5_000)
  await ledger.reserve('alice', 'r-1', 2_500)
  await ledger.capture('alice', 'r-1', 2_500)
  await ledger.reserve('alice', 'r-2', 1_000)
  await ledger.cancel('alice', 'r-2', 1_000)
  await ledger.debit('alice', 50_000).catch((error: Error) => say(`   refused: ${error.message}`))
  await upToDate()
  say('   The read model has every event.')

  say('2  An event is delivered again')
  await using publisher = createPublisher(kafka, events)
  await publisher.publish('FundsCredited', { accountId: 'bob', amount: 5_000 }, { aggregateVersion: 2 })
  const repeated = () => metrics.total('projection.events', { outcome: 'repeated' })
  await eventually(() => {
    if (repeated() === 0) throw new Error('it is not delivered yet')
  }, patient)
  say(`   It was skipped: bob has ${(await rowsOf()).find(({ accountId }) => accountId === 'bob')?.balance} cents.`)

  say('3  The database of the read model is away, and events arrive')
  const bringBack = await stage.takeAway()
  const attempts = (): number => metrics.total('eventbus.records.failed')
  const before = attempts()
  for (let count = 0; count < 20; count++) await ledger.credit(count % 2 === 0 ? 'alice' : 'bob', 100)
  await ledger.open('carol', 'GBP', 700)
  await eventually(() => {
    if (attempts() === before) throw new Error('no attempt has failed yet')
  }, patient)
  await bringBack()
  await upToDate()
  say(`   The partitions waited and caught up: ${await deadLetters()} dead letters.`)

  say('4  A currency that is not supported, and an event that is missing')
  await publisher.publish('AccountOpened', { accountId: 'dave', balance: 0, currency: 'JPY' }, { aggregateVersion: 1 })
  await publisher.publish('AccountOpened', { accountId: 'erin', balance: 0, currency: 'EUR' }, { aggregateVersion: 1 })
  await publisher.publish('FundsCredited', { accountId: 'erin', amount: 30 }, { aggregateVersion: 3 })
  await eventually(async () => {
    if ((await deadLetters()) < 2) throw new Error('not dead yet')
  }, patient)
  for (const { key, reason, expected, found } of await quarantine.list({}, operator))
    say(`   ${key} is quarantined: ${reason}, expected version ${expected}, found ${found}`)

  say('5  The missing event arrives, and an operator releases the account')
  await publisher.publish('FundsCredited', { accountId: 'erin', amount: 12 }, { aggregateVersion: 2 })
  const dead = () => deadEvents(connector.admin.deadLetters('balances', operator))
  await eventually(async () => {
    if (!(await quarantine.preview('erin', dead(), operator)).isReady) throw new Error('not ready yet')
  }, patient)
  say(`   erin is at version ${await quarantine.release('erin', dead(), operator)}.`)

  return {
    ledger: await accounts.all(),
    readModel: await rowsOf(),
    repeated: repeated(),
    deadLetters: await deadLetters(),
    quarantined: (await quarantine.list({}, operator)).map(({ key }) => key),
    audited: [...new Set(audited.map(({ operation }) => operation))].toSorted(),
  }
}
