import { createEnvelope, defineEvents, NoTransactionError, WorkNotAwaitedError } from '@waybill/core'
import { createListenerRegistry, Outbox } from '@waybill/outbox'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrate } from '../../src/migrate/migrate.ts'
import { createOutboxStore } from '../../src/outbox/create-outbox-store.ts'
import type { OpenedLibrary, Witness } from './opened-library.ts'

/** A schema that takes everything but what says that it is bad. */
const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) =>
      Object(value).bad === true ? { issues: [{ message: 'is bad', path: [] }] } : { value },
  },
} as const
const events = defineEvents({
  'thing.made': { topic: 'things', schema, key: () => 'thing' },
  'thing.sold': { topic: 'things', schema, key: () => 'thing' },
})

/** More than one statement takes. */
const manyEvents = Array.from({ length: 1_001 }, () =>
  createEnvelope({ eventType: 'thing.made', aggregateType: 'thing', aggregateId: 'one', payloadJson: '{}' }),
)

/** A transaction commits with the events that its work has written, or not at all: not while a write is under way. */
export function describeNotAwaited<Tx>(witness: Witness, open: (url: string) => Promise<OpenedLibrary<Tx>>): void {
  describe('work that was not awaited', () => {
    let library: OpenedLibrary<Tx>
    let outbox: ReturnType<typeof outboxOver<Tx>>
    beforeAll(async () => {
      library = await open(witness.url ?? '')
      await migrate(library.database)
      outbox = outboxOver(library)
    })
    beforeEach(async () => {
      await library.database.connection((connection) => connection.query('delete from outbox_event', []))
    })
    afterAll(() => library.close())

    const insert = (tx: Tx, id: string) => library.run(tx, `insert into things (id) values ('${id}')`)
    const written = () =>
      library.database.connection(async (connection) => {
        const { rows } = await connection.query('select event_type as kind from outbox_event order by seq', [])
        return rows.map(({ kind }) => kind)
      })

    test('as the last write of a transaction keeps it from being committed, and the error names the event', async () => {
      const refused = library.database.transaction(async (tx) => {
        await insert(tx, 'order')
        void outbox.write(tx, 'thing.made', {})
      })
      const error = await refused.catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(WorkNotAwaitedError)
      expect(error).toMatchObject({ underWay: ['the write of thing.made'] })
      expect([await witness.ids(), await written()]).toEqual([[], []])
    })

    test('as its first and only statement is refused the same way', async () => {
      const refused = library.database.transaction(async (tx) => void outbox.write(tx, 'thing.made', {}))
      await expect(refused).rejects.toThrow('its work ended before something in it: the write of thing.made.')
      expect(await written()).toEqual([])
    })

    test('of the ambient transaction is refused the same way', async () => {
      const refused = library.database.transaction(async (tx) => {
        await insert(tx, 'order')
        void outbox.writer.write('thing.made', '{}')
      })
      await expect(refused).rejects.toBeInstanceOf(WorkNotAwaitedError)
      expect([await witness.ids(), await written()]).toEqual([[], []])
    })

    test('is refused also where its row was inserted already', async () => {
      const [isInserted, isRefused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const lingering = outboxOver(library, async () => {
        isInserted.resolve()
        await isRefused.promise
      })
      const refused = library.database.transaction(async (tx) => {
        await insert(tx, 'order')
        void lingering.write(tx, 'thing.made', {})
        await isInserted.promise
      })
      await expect(refused).rejects.toBeInstanceOf(WorkNotAwaitedError)
      isRefused.resolve()
      expect([await witness.ids(), await written()]).toEqual([[], []])
    })

    test('names each of several writes', async () => {
      const refused = library.database.transaction(async (tx) => {
        for (const name of ['thing.made', 'thing.sold', 'thing.made'] as const) void outbox.write(tx, name, {})
      })
      await expect(refused).rejects.toMatchObject({
        underWay: ['the write of thing.made', 'the write of thing.sold', 'the write of thing.made'],
      })
      expect(await written()).toEqual([])
    })

    test('is refused where an error of another write was caught before all had ended', async () => {
      const refused = library.database.transaction(async (tx) => {
        await insert(tx, 'order')
        const writes = [outbox.write(tx, 'thing.made', {}), outbox.write(tx, 'thing.sold', { bad: true })]
        await Promise.all(writes).catch(() => {})
      })
      await expect(refused).rejects.toBeInstanceOf(WorkNotAwaitedError)
      expect([await witness.ids(), await written()]).toEqual([[], []])
    })

    test('that has ended by itself before the work did is part of what is committed', async () => {
      await library.database.transaction(async (tx) => {
        const write = outbox.write(tx, 'thing.made', {})
        let isOver = false
        void write.finally(() => {
          isOver = true
        })
        while (!isOver) await new Promise((resolve) => setImmediate(resolve))
        await insert(tx, 'order')
      })
      expect([await witness.ids(), await written()]).toEqual([['order'], ['thing.made']])
    })

    test('is not what writes side by side are, whose end the work awaits', async () => {
      await library.database.transaction(async (tx) => {
        await Promise.all([outbox.write(tx, 'thing.made', {}), outbox.write(tx, 'thing.sold', {}), insert(tx, 'order')])
      })
      expect(await witness.ids()).toEqual(['order'])
      expect(new Set(await written())).toEqual(new Set(['thing.made', 'thing.sold']))
    })

    test('is not what a write is whose error was caught: the rest commits', async () => {
      await library.database.transaction(async (tx) => {
        await insert(tx, 'order')
        await expect(outbox.write(tx, 'thing.made', { bad: true })).rejects.toBeInstanceOf(Error)
      })
      expect(await witness.ids()).toEqual(['order'])
    })

    test('in a nested transaction takes back that one, and the outer one may go on', async () => {
      await library.database.transaction(async (tx) => {
        await insert(tx, 'outer')
        const inner = library.database.transaction(async (nested) => {
          await insert(nested, 'inner')
          void outbox.write(nested, 'thing.made', {})
        })
        await expect(inner).rejects.toBeInstanceOf(WorkNotAwaitedError)
        await outbox.write(tx, 'thing.sold', {})
      })
      expect([await witness.ids(), await written()]).toEqual([['outer'], ['thing.sold']])
    })

    test('may be a whole nested transaction: the outer one is not committed without it', async () => {
      let inner: Promise<unknown> = Promise.resolve()
      const refused = library.database.transaction(async (tx) => {
        await insert(tx, 'outer')
        inner = library.database.transaction((nested) => outbox.write(nested, 'thing.made', {}))
      })
      await expect(refused).rejects.toMatchObject({ underWay: ['a nested transaction'] })
      await expect(inner).rejects.toBeInstanceOf(Error)
      expect([await witness.ids(), await written()]).toEqual([[], []])
    })

    test('that is a nested transaction just being begun never starts', async () => {
      let hasStarted = false
      const refused = library.database.transaction(async (tx) => {
        await insert(tx, 'outer')
        void library.database.transaction(async () => {
          hasStarted = true
        })
      })
      await expect(refused).rejects.toMatchObject({ underWay: ['a nested transaction'] })
      await someTurns()
      expect([hasStarted, await witness.ids()]).toEqual([false, []])
    })

    test.each(['fails', 'succeeds'])(
      'that is a nested transaction has ended with the outer one, and leaves alone who has the connection next when it %s',
      async (end) => {
        // Its pool has opened one connection only.
        const fresh = await open(witness.url ?? '')
        const [hasBegun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        let stray: Promise<unknown> = Promise.resolve()
        const refused = fresh.database.transaction(async () => {
          stray = fresh.database.transaction(async () => {
            hasBegun.resolve()
            await mayEnd.promise
            if (end === 'fails') throw new Error('changed my mind')
          })
          await hasBegun.promise
        })
        await expect(refused).rejects.toMatchObject({ underWay: ['a nested transaction'] })
        await fresh.database.transaction(async (tx) => {
          await insert(tx, 'outer')
          await fresh.database.transaction(async (nested) => {
            await insert(nested, 'inner')
            mayEnd.resolve()
            await someTurns()
            await insert(nested, 'later')
          })
        })
        expect(await witness.ids()).toEqual(['inner', 'later', 'outer'])
        await expect(stray).rejects.toBeInstanceOf(NoTransactionError)
        await fresh.close()
      },
    )

    test('that is a nested transaction of a nested one is taken back with that one alone', async () => {
      const [hasBegun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      await library.database.transaction(async (tx) => {
        await insert(tx, 'outer')
        const middle = library.database.transaction(async (nested) => {
          await insert(nested, 'middle')
          void library.database.transaction(async (innermost) => {
            await insert(innermost, 'inner')
            hasBegun.resolve()
            await mayEnd.promise
            throw new Error('changed my mind')
          })
          await hasBegun.promise
        })
        await expect(middle).rejects.toMatchObject({ underWay: ['a nested transaction'] })
        mayEnd.resolve()
        await someTurns()
        await insert(tx, 'later')
        await outbox.write(tx, 'thing.sold', {})
      })
      expect([await witness.ids(), await written()]).toEqual([['later', 'outer'], ['thing.sold']])
    })

    test('is not written by itself, however far it had come when the work threw', async () => {
      // One on some libraries is a question and a statement, and many are two statements.
      for (const [count, turns] of [1, manyEvents.length].flatMap((size) => [0, 1, 4].map((wait) => [size, wait]))) {
        let late: Promise<unknown> = Promise.resolve()
        const failed = library.database.transaction(async (tx) => {
          await insert(tx, 'order')
          late = outbox.writer.writeAll(manyEvents.slice(0, count)).catch(() => {})
          for (let turn = 0; turn < Number(turns); turn++) await new Promise((resolve) => setImmediate(resolve))
          throw new Error('changed my mind')
        })
        await expect(failed).rejects.toThrow('changed my mind')
        await late
        expect([count, turns, await witness.ids(), await written()]).toEqual([count, turns, [], []])
      }
    })

    test('whose work threw leaves the error of the work, and no row', async () => {
      let late: Promise<unknown> = Promise.resolve()
      const failed = library.database.transaction(async (tx) => {
        await insert(tx, 'order')
        late = outbox.write(tx, 'thing.made', {}).catch((error: unknown) => error)
        throw new Error('changed my mind')
      })
      await expect(failed).rejects.toThrow('changed my mind')
      expect(await late).toBeInstanceOf(NoTransactionError)
      expect([await witness.ids(), await written()]).toEqual([[], []])
    })
  })
}

/** Lets pending callbacks run. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function outboxOver<Tx>({ database }: OpenedLibrary<Tx>, afterWrite: () => Promise<void> = async () => {}) {
  const listeners = createListenerRegistry()
  return Outbox.singleNode({ events, database, store: createOutboxStore(database), listeners, hook: { afterWrite } })
}
