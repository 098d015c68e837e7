import { createEnvelope, type EventEnvelope } from '@waybill/core'
import type { InsertOptions, Lease, PendingQuery } from '@waybill/core/outbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createInbox, createOutboxStore, migrate } from '../../src/index.ts'
import type { OpenedLibrary } from './opened-library.ts'

const plain: InsertOptions = { lease: null, availableAt: null }
const allNew: PendingQuery = { status: 'NEW', limit: 100, skipRecentMs: 0, floor: null, shards: null }
const lease: Lease = { owner: 'node-1', version: 7n, timeoutMs: 60_000 }

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
      const write = (tx: Tx, events: EventEnvelope[]): Promise<bigint[]> =>
        store.insertNew(database.enlist(tx).currentConnection(), events, plain)

      const seqs = await database.transaction((tx) => write(tx, kept))
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
      const [first = 0n, second = 0n] = seqs
      const finished = await database.connection(async (connection) => [
        ...(await store.markDone(connection, [first], fence, { whenDone: 'KEEP' })),
        ...(await store.markRetry(connection, [{ seq: second, attempts: 1, delayMs: 60_000, error: 'again' }], fence)),
      ])
      expect(finished).toEqual(seqs)
      const ids = [...kept, ...lost].map(({ eventId }) => eventId)
      const statuses = await database.connection((connection) => store.statusOf(connection, ids))
      expect(ids.map((id) => statuses.get(id))).toEqual(['DONE', 'RETRY', undefined])
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
