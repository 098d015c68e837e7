import { Outbox } from '@waybill/outbox'
import { shardOf } from '@waybill/outbox/internal'
import { createOutboxStore } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Book } from './support/book.ts'
import { openDatabase, type ServerAddress } from './support/open-database.ts'
import { guaranteeEvents } from './support/outbox-task.ts'

const patient = { deadlineMs: 20_000, everyMs: 5 }
const rounds = 5

function shardFor(aggregateId: string): number {
  return shardOf({ aggregateType: '__GLOBAL__', aggregateId } as never)
}

/** Returns another key whose events lie in the same shard. */
function neighbourOf(key: string): string {
  for (let at = 0; ; at++) if (shardFor(`other-${at}`) === shardFor(key)) return `other-${at}`
}

/**
 * Inserts the first event of a key, and keeps its transaction open while the delivering node reads past its number.
 * Then it commits, and after it a second transaction writes the next event of the key: serially, as a lock would make
 * them.
 */
async function commitLate(address: ServerAddress): Promise<void> {
  await using open = openDatabase(address)
  const { database } = open
  const table = 'late_commit'
  await new Book(open, table).create()
  const store = createOutboxStore(database, { table })
  const events = guaranteeEvents('nowhere')
  const delivered: string[] = []
  await using node = Outbox.keyed({
    events,
    database,
    store,
    purge: false,
    listeners: {
      listenerFor: () => async (event) =>
        void delivered.push((JSON.parse(event.payloadJson) as { value: string }).value),
    },
  })
  await node.start()
  // Stands for another process: the delivering node does not observe its commits.
  const writer = Outbox.writerOnly({ events, database, store })
  for (let round = 0; round < rounds; round++) {
    const key = `key-${round}`
    const write = (value: string, of: string, until: Promise<void> = Promise.resolve()): Promise<void> =>
      database.transaction(async (tx) => {
        await writer.write(tx, 'value.noted', { value, key: of })
        inserted.resolve()
        await until
      })
    const inserted = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const first = write(`${round}-first`, key, mayCommit.promise)
    await inserted.promise
    await write(`${round}-neighbour`, neighbourOf(key))
    await eventually(() => expect(delivered).toContain(`${round}-neighbour`), patient)
    mayCommit.resolve()
    await first
    await write(`${round}-second`, key)
    await eventually(() => expect(delivered).toContain(`${round}-second`), patient)
    await eventually(() => expect(delivered).toContain(`${round}-first`), patient)
    expect(delivered.slice(-2)).toEqual([`${round}-first`, `${round}-second`])
  }
}

const title = 'is not overtaken by the next event of its key from any writer'

describeWith('postgres')('a transaction on PostgreSQL that commits late', ({ postgres }) => {
  test(title, { timeout: 60_000 }, () => commitLate({ dialect: 'postgres', url: postgres.url }))
})

describeWith('mysql')('a transaction on MariaDB that commits late', ({ mysql }) => {
  test(title, { timeout: 60_000 }, () => commitLate({ dialect: 'mysql', url: mysql.url }))
})
