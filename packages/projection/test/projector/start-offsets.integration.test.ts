import { DatabaseSync } from 'node:sqlite'
import { createConnector } from '@waybill/connector'
import { noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient, createPublisher } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { createProjectionStore, fromMysql2, fromPg, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'
import { createProjector } from '../../src/projector/create-projector.ts'
import { tableOf } from '../../src/projector/live-build.ts'
import { accounts, balancesByPosition } from '../test-accounts.ts'

const keys = ['a', 'b', 'c', 'd']
const runtime = runtimeWith({ logger: noopLogger })
const table = tableOf(balancesByPosition, 1)

/** Declares the test. The database is empty at first. */
function startOffsetTests<Tx>(open: () => SqlDatabase<Tx>): void {
  test('events without versions are applied once, and again after a restore of the database whose group has committed more', async () => {
    const database = open()
    await migrate(database, { tables: { outbox: false, inbox: false, projection: 'projection' } })
    const store = createProjectionStore(database)
    const cluster = createSimCluster()
    cluster.createTopic('accounts', { partitions: 3 })
    await using kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('positions') })
    await using publisher = createPublisher(kafka, accounts)
    const credit = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++)
        for (const accountId of keys) await publisher.publish('FundsCredited', { accountId, amount: '1' })
    }
    /** Starts a process, resolves when every row has this balance, and stops it. */
    const consume = async (balance: number): Promise<void> => {
      const projector = createProjector(balancesByPosition, { store, runtime })
      const binding = projector.binding({ groupId: 'positions', maxPollRecords: 5 })
      await using connector = createConnector({ clusters: { default: kafka }, bindings: { binding }, runtime })
      await connector.start()
      await eventually(async () => expect(await balances()).toEqual(keys.map(() => String(balance))))
    }
    const balances = async () => (await store.scan(table, null, 10)).map(({ state }) => state?.['balance'])

    for (const accountId of keys) await publisher.publish('AccountOpened', { accountId, balance: '0', currency: 'EUR' })
    await credit(4)
    await consume(4)
    const [rows, positions] = [await store.scan(table, null, 10), await store.positions(table)]
    await credit(6)
    await consume(10)
    await consume(10)

    // A restore of the first backup: rows and positions are older than what the group has committed.
    await store.transaction(async (tx) => {
      for (const row of rows) await tx.restore(table, row)
    })
    for (const { partition, next } of positions)
      await database.connection((connection) =>
        connection.query(`UPDATE projection_position SET next_offset = ${next} WHERE part = ${partition}`, []),
      )
    expect(await balances()).toEqual(keys.map(() => '4'))
    await credit(1)
    await consume(11)
  })
}

describe('positions on SQLite', () => startOffsetTests(() => fromSqlite(new DatabaseSync(':memory:'))))

describeWith('postgres')('positions on PostgreSQL', ({ postgres }) => startOffsetTests(() => fromPg(postgres.pool)))

describeWith('mysql')('positions on MySQL or MariaDB', ({ mysql }) => startOffsetTests(() => fromMysql2(mysql.pool)))
