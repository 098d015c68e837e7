import { createEnvelope, defineEvents, type EventEnvelope } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { type InsertOptions, type PendingQuery, type RowLease } from '@waybill/outbox/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createInbox } from '../../src/inbox/create-inbox.ts'
import { migrate } from '../../src/migrate/migrate.ts'
import { createOutboxStore } from '../../src/outbox/create-outbox-store.ts'
import type { OpenedLibrary } from './opened-library.ts'

/** A schema that takes everything. */
const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const

const plain: InsertOptions = { lease: null, availableAt: null }
const allNew: PendingQuery = {
  status: 'NEW',
  limit: 100,
  maxBytes: 1_000_000,
  skipRecentMs: 0,
  floor: null,
  shards: null,
}
const lease: RowLease = { owner: 'node-1', version: 7n, timeoutMs: 60_000 }

/** The stores work over every library: values are bound and answers read as each of them does it. */
export function describeStores<Tx>(url: string | null, open: (url: string) => Promise<OpenedLibrary<Tx>>): void {
  describe('the stores', () => {
    let library: OpenedLibrary<Tx>
    beforeAll(async () => {
      library = await open(url ?? '')
      await migrate(library.database)
    })
    afterAll(() => library.close())

    test('an event that commits is claimed and finished as it was written, and one that is rolled back is not there', async () => {
      const { database } = library
      const store = createOutboxStore(database)
      const [kept, lost] = [[event(1), event(2)], [event(3)]]
      const write = (tx: Tx, events: EventEnvelope[]) =>
        store.insertNew(database.enlist(tx).currentConnection(), events, plain)

      const { seqs } = await database.transaction((tx) => write(tx, kept))
      const failed = library.ownTransaction(async (tx) => {
        await write(tx, lost)
        throw new Error('changed my mind')
      })
      await expect(failed).rejects.toThrow('changed my mind')

      const rows = await database.connection((connection) => store.claimPending(connection, lease, allNew))
      expect(rows.map(({ seq }) => seq)).toEqual(seqs)
      expect(rows.map(({ event: read }) => read?.payloadJson)).toEqual(kept.map(({ payloadJson }) => payloadJson))
      expect(rows.map(({ event: read }) => read?.eventId)).toEqual(kept.map(({ eventId }) => eventId))

      const fence = { kind: 'LEASE', owner: lease.owner, version: lease.version } as const
      const finished = await database.connection(async (connection) => [
        ...(await store.markDone(connection, rows.slice(0, 1), fence, { whenDone: 'KEEP' })),
        ...(await store.markRetry(
          connection,
          rows.slice(1).map((row) => ({ ...row, attempts: 1, delayMs: 60_000, error: 'again' })),
          fence,
        )),
      ])
      expect(finished).toEqual(seqs)
      const ids = [...kept, ...lost].map(({ eventId }) => eventId)
      const statuses = await database.connection((connection) => store.statusOf(connection, ids))
      expect(ids.map((id) => statuses.get(id))).toEqual(['DONE', 'RETRY', undefined])
    })

    test('an event that its own savepoint took back is not delivered, and the others of its transaction are', async () => {
      const { database } = library
      const store = createOutboxStore(database)
      const delivered: string[] = []
      const outbox = Outbox.multiNode({
        events: defineEvents({ 'thing.made': { topic: 'things', schema: anything, key: () => 'thing' } }),
        database,
        store,
        listeners: {
          listenerFor:
            () =>
            async ({ eventId }) =>
              void delivered.push(eventId),
        },
        claimLocking: { timeoutMs: 60_000 },
        purge: false,
      })
      await outbox.start()
      const ids = await database.transaction(async (tx) => {
        const before = await outbox.write(tx, 'thing.made', {})
        await library.run(tx, 'SAVEPOINT own')
        const undone = await outbox.write(tx, 'thing.made', {})
        await library.run(tx, 'ROLLBACK TO SAVEPOINT own')
        const after = await outbox.write(tx, 'thing.made', {})
        return { before, undone, after }
      })
      for (const id of [ids.before, ids.after]) await outbox.published(id, { deadlineMs: 30_000 })
      await outbox.stop()
      expect(delivered).toHaveLength(2)
      expect(new Set(delivered)).toEqual(new Set([ids.before, ids.after]))
    })

    test('a row outside of savepoints is bound to the commit where the database tells so: on PostgreSQL', async () => {
      const { database } = library
      const store = createOutboxStore(database)
      const answers = await database.transaction(async (tx) => {
        const isBound = async (number: number): Promise<boolean> => {
          const connection = database.enlist(tx).currentConnection()
          return (await store.insertNew(connection, [event(number)], plain)).areBoundToCommit
        }
        const outside = await isBound(10)
        const nested = await database.transaction(() => isBound(11))
        await library.run(tx, 'SAVEPOINT own')
        const inside = await isBound(12)
        return [outside, nested, inside]
      })
      expect(answers).toEqual([database.dialect === 'postgres', false, false])
    })

    test('an inbox has an effect once', async () => {
      const inbox = createInbox(library.database)
      const effects: string[] = []
      const effect = async (): Promise<void> => void effects.push('shipped')
      expect(await inbox.run('shipping', 'event-1', effect)).toBe('DONE')
      expect(await inbox.run('shipping', 'event-1', effect)).toBe('DUPLICATE')
      expect(effects).toEqual(['shipped'])
    })
  })
}

function event(number: number): EventEnvelope {
  return createEnvelope({
    eventType: 'order.placed',
    aggregateType: 'order',
    aggregateId: `order-${number}`,
    payloadJson: `{ "number": ${number}, "text": "a ? b $1 é \\" 'x'" }`,
    headers: { note: "it's ?" },
  })
}
