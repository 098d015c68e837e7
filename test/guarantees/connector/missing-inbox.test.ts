/** A connector without the table of its marks fails on start, and not on every record from then on. */

import { DatabaseSync } from 'node:sqlite'
import { createConnector, type DeduplicateOptions, defineBinding } from '@waybill/connector'
import { systemRuntime } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import {
  createIdempotencyStore,
  createInbox,
  fromMysql2,
  fromPg,
  fromSqlite,
  MigrationMissingError,
  migrate,
  type SqlDatabase,
} from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'

async function startWith<Tx>(deduplicate: DeduplicateOptions<Tx>): Promise<string> {
  const cluster = createSimCluster({ runtime: systemRuntime })
  cluster.createTopic('orders')
  await using kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('shop') })
  const shipping = defineBinding({ topic: 'orders', groupId: 'shipping', handler: () => {}, deduplicate })
  await using connector = createConnector({ clusters: { default: kafka }, bindings: { shipping } })
  await connector.start()
  return connector.state
}

function describeStarts<Tx>(open: () => SqlDatabase<Tx>): void {
  test.each([
    ['an inbox', 'marks_of_inbox'],
    ['a store', 'marks_of_store'],
  ])('with %s is refused before its table was made, and starts then', async (way, table) => {
    const database = open()
    const deduplicate =
      way === 'a store'
        ? { store: createIdempotencyStore(database, { table }) }
        : { inbox: createInbox(database, { table }) }
    const refused: unknown = await startWith(deduplicate).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(MigrationMissingError)
    expect(String(refused)).toMatch(new RegExp(`${table}.*Run migrate\\(database\\)`, 's'))
    await migrate(database, { tables: { outbox: false, inbox: table } })
    expect(await startWith(deduplicate)).toBe('RUNNING')
  })
}

describe('a connector that marks on SQLite', () => {
  const database = fromSqlite(new DatabaseSync(':memory:'))
  describeStarts(() => database)
})
describeWith('postgres')('a connector that marks on PostgreSQL', ({ postgres }) =>
  describeStarts(() => fromPg(postgres.pool)),
)
describeWith('mysql')('a connector that marks on MariaDB', ({ mysql }) => describeStarts(() => fromMysql2(mysql.pool)))
