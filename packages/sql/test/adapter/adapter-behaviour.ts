import { NoTransactionError, StateError, type TxContext } from '@waybill/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { describeEndedTransactions } from './ended-transaction.ts'
import { describeKeptConnections } from './kept-connection.ts'
import { describeLostAnswers } from './lost-answers.ts'
import { describeNotAwaited } from './not-awaited.ts'
import type { OpenedLibrary, Witness } from './opened-library.ts'
import { Seen } from './seen.ts'
import { describeStores } from './store-behaviour.ts'
import { describeUnreachableDatabase } from './unreachable-database.ts'
import { placeholder, writeWith } from './write-with.ts'

/** The promises of a SqlDatabase, kept by every adapter. */
export function describeAdapter<Tx>(witness: Witness, open: (url: string) => Promise<OpenedLibrary<Tx>>): void {
  let library: OpenedLibrary<Tx>
  beforeAll(async () => {
    await witness.createTable()
    library = await open(witness.url ?? '')
  })
  beforeEach(() => witness.clear())
  afterAll(() => library.close())

  const write = (context: TxContext, id: string) => writeWith(library.database, context, id)
  const insert = (tx: Tx, id: string) => library.run(tx, `insert into things (id) values ('${id}')`)

  describe('a transaction', () => {
    test('commits the business row and the event row together, and runs what follows the commit once', async () => {
      const seen = new Seen()
      const value = await library.database.transaction(async (tx) => {
        const context = library.database.enlist(tx)
        seen.listenTo(context)
        expect(context.isTransactionActive()).toBe(true)
        expect(context.endIsSeen).toBe(true)
        await insert(tx, 'business')
        await write(context, 'event')
        expect(await witness.ids()).toEqual([])
        expect(seen.calls).toEqual([])
        return 42
      })
      expect(value).toBe(42)
      expect(seen.calls).toEqual(['committed'])
      expect(await witness.ids()).toEqual(['business', 'event'])
    })

    test('writes the event over the connection of the business statements', async () => {
      await library.database.transaction(async (tx) => {
        await insert(tx, 'uncommitted')
        const { rows } = await library.database.enlist(tx).currentConnection().query('select id from things', [])
        expect(rows).toEqual([expect.objectContaining({ id: 'uncommitted' })])
      })
    })

    test('leaves nothing when the work throws after the write, and rejects with that very error', async () => {
      const seen = new Seen()
      const thrown = new Error('after the write')
      const failed = library.database.transaction(async (tx) => {
        const context = library.database.enlist(tx)
        seen.listenTo(context)
        await insert(tx, 'business')
        await write(context, 'event')
        throw thrown
      })
      await expect(failed).rejects.toBe(thrown)
      expect(seen.calls).toEqual(['rolled back'])
      expect(await witness.ids()).toEqual([])
    })

    test('is ambient for what runs inside it, and only there', async () => {
      const { ambient } = library.database
      expect(ambient.isTransactionActive()).toBe(false)
      expect(() => ambient.currentConnection()).toThrow(StateError)
      await library.database.transaction(async () => {
        await Promise.resolve()
        expect(ambient.isTransactionActive()).toBe(true)
        await write(ambient, 'event')
      })
      expect(ambient.isTransactionActive()).toBe(false)
      expect(await witness.ids()).toEqual(['event'])
    })

    test('lets nothing join after its end', async () => {
      const contexts: TxContext[] = []
      await library.database.transaction(async (tx) => void contexts.push(library.database.enlist(tx)))
      const [context] = contexts
      expect(context?.isTransactionActive()).toBe(false)
      expect(() => context?.currentConnection()).toThrow(StateError)
      expect(() => context?.afterCommit(() => {})).toThrow(StateError)
    })

    test('takes nothing through its handle while its end is under way, from work that was not awaited', async () => {
      let late: Promise<unknown> = Promise.resolve()
      const failed = library.database.transaction(async (tx) => {
        await insert(tx, 'rolled back')
        late = refusalOf(async () => {
          await new Promise<void>((resolve) => process.nextTick(resolve))
          await write(library.database.enlist(tx), 'late')
        })
        throw new Error('changed my mind')
      })
      await expect(failed).rejects.toThrow('changed my mind')
      expect(await late).toBeInstanceOf(NoTransactionError)
      expect(await witness.ids()).toEqual([])
    })

    test('takes nothing into the next one of the same handle, from work that was not awaited', async () => {
      const next = Promise.withResolvers<void>()
      let late: Promise<unknown> = Promise.resolve()
      await library.database.transaction(async (tx) => {
        late = refusalOf(async () => {
          await next.promise
          await write(library.database.enlist(tx), 'late')
        })
      })
      await library.database.transaction(async (tx) => {
        await insert(tx, 'next')
        next.resolve()
        expect(await late).toBeInstanceOf(NoTransactionError)
      })
      expect(await witness.ids()).toEqual(['next'])
    })

    test('follows others on the same pool', async () => {
      const numbers = Array.from({ length: 20 }, (_, index) => `event-${index + 10}`)
      await Promise.all(
        numbers.map((id) =>
          library.database.transaction(async (tx) => void (await write(library.database.enlist(tx), id))),
        ),
      )
      expect(await witness.ids()).toEqual(numbers)
    })
  })

  describe('a nested transaction', () => {
    test('that fails takes its own rows and callbacks with it, and the outer one commits', async () => {
      const [outerSeen, innerSeen] = [new Seen(), new Seen()]
      await library.database.transaction(async (tx) => {
        outerSeen.listenTo(library.database.enlist(tx))
        await insert(tx, 'outer')
        const inner = library.database.transaction(async (nested) => {
          innerSeen.listenTo(library.database.enlist(nested))
          await insert(nested, 'inner')
          await write(library.database.enlist(nested), 'inner event')
          throw new Error('inner')
        })
        await expect(inner).rejects.toThrow('inner')
        expect(innerSeen.calls).toEqual(['rolled back'])
        await write(library.database.enlist(tx), 'outer event')
      })
      expect(innerSeen.calls).toEqual(['rolled back'])
      expect(outerSeen.calls).toEqual(['committed'])
      expect(await witness.ids()).toEqual(['outer', 'outer event'])
    })

    test('that succeeds waits for the outer one', async () => {
      const [kept, lost] = [new Seen(), new Seen()]
      await library.database.transaction(async () => {
        await library.database.transaction(async (nested) => {
          kept.listenTo(library.database.enlist(nested))
          await insert(nested, 'inner')
        })
        expect(kept.calls).toEqual([])
      })
      expect(kept.calls).toEqual(['committed'])
      const failed = library.database.transaction(async () => {
        await library.database.transaction(async (nested) => {
          lost.listenTo(library.database.enlist(nested))
          await insert(nested, 'lost')
        })
        throw new Error('outer')
      })
      await expect(failed).rejects.toThrow('outer')
      expect(lost.calls).toEqual(['rolled back'])
      expect(await witness.ids()).toEqual(['inner'])
    })

    test('whose statement fails leaves the outer one usable', async () => {
      await library.database.transaction(async (tx) => {
        await insert(tx, 'same')
        await expect(library.database.transaction((nested) => insert(nested, 'same'))).rejects.toBeInstanceOf(Error)
        await insert(tx, 'other')
      })
      expect(await witness.ids()).toEqual(['other', 'same'])
    })

    test('beside another of the same transaction is refused', async () => {
      await library.database.transaction(async () => {
        const results = await Promise.allSettled([
          library.database.transaction((nested) => insert(nested, 'first')),
          library.database.transaction((nested) => insert(nested, 'second')),
        ])
        expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
      })
      expect(await witness.ids()).toEqual(['first'])
    })
  })

  describe('a transaction of the application', () => {
    test('is as atomic, and its end is not seen', async () => {
      await library.ownTransaction(async (tx) => {
        const context = library.database.enlist(tx)
        expect(context.endIsSeen).toBe(false)
        expect(() => context.afterCommit(() => {})).toThrow(StateError)
        await insert(tx, 'business')
        await write(context, 'event')
        expect(await witness.ids()).toEqual([])
      })
      expect(await witness.ids()).toEqual(['business', 'event'])
    })

    test('that is rolled back leaves nothing', async () => {
      const failed = library.ownTransaction(async (tx) => {
        await write(library.database.enlist(tx), 'event')
        throw new Error('changed my mind')
      })
      await expect(failed).rejects.toThrow('changed my mind')
      expect(await witness.ids()).toEqual([])
    })

    test('does not exist outside one: the handle is refused and nothing is written', async () => {
      await library.outside(async (handle) => {
        const refused = (async () => write(library.database.enlist(handle), 'event'))()
        await expect(refused).rejects.toThrow(NoTransactionError)
      })
      expect(await witness.ids()).toEqual([])
    })
  })

  describe('a lent connection', () => {
    test('answers rows, and how many rows a statement matched', async () => {
      const { dialect } = library.database
      await library.database.connection(async (connection) => {
        await connection.query(`insert into things (id) values (${placeholder(dialect)})`, ['a'])
        const update = `update things set id = ${placeholder(dialect)} where id = 'a'`
        expect(await connection.query(update, ['a'])).toMatchObject({ rows: [], changed: 1 })
        const { rows, changed } = await connection.query('select id, 7 as number from things', [])
        expect(rows.map((row) => ({ ...row, number: Number(row['number']) }))).toEqual([{ id: 'a', number: 7 }])
        expect(changed).toBe(1)
        expect(await connection.query("delete from things where id = 'nothing'", [])).toMatchObject({ changed: 0 })
      })
    })

    test('is no part of a transaction, and a failure leaves none open on it', async () => {
      const failed = library.database.connection(async (connection) => {
        await connection.query('BEGIN', [])
        await connection.query("insert into things (id) values ('lost')", [])
        throw new Error('halfway')
      })
      await expect(failed).rejects.toThrow('halfway')
      await library.database.connection((connection) => connection.query("insert into things (id) values ('kept')", []))
      expect(await witness.ids()).toEqual(['kept'])
    })

    test('survives a statement that the server refuses', async () => {
      await library.database.connection(async (connection) => {
        await expect(connection.query('select nonsense from things', [])).rejects.toBeInstanceOf(Error)
        expect((await connection.query('select id from things', [])).rows).toEqual([])
      })
    })
  })

  const { url } = witness
  describeStores(url, open)
  describeEndedTransactions(url, open)
  describeNotAwaited(witness, open)
  if (url === null) return
  describeLostAnswers(witness, url, open)
  describeUnreachableDatabase(url, open)
  describeKeptConnections(witness, url, open)
}

/** Where a failed statement dooms its transaction (PostgreSQL), COMMIT succeeds and rolls back. */
export function describeDoomedTransaction<Tx>(
  witness: Witness,
  open: (url: string) => Promise<OpenedLibrary<Tx>>,
): void {
  test('a transaction in which a failure was caught is not taken for committed', async () => {
    const library = await open(witness.url ?? '')
    try {
      await witness.clear()
      const seen = new Seen()
      const doomed = library.database.transaction(async (tx) => {
        const context = library.database.enlist(tx)
        seen.listenTo(context)
        await writeWith(library.database, context, 'event')
        await library.run(tx, "insert into things (id) values ('event')").catch(() => {})
      })
      await expect(doomed).rejects.toBeInstanceOf(Error)
      expect(seen.calls).toEqual(['rolled back'])
      expect(await witness.ids()).toEqual([])
    } finally {
      await library.close()
    }
  })
}

/** Returns the error that the work rejects with, without an unhandled rejection. */
async function refusalOf(work: () => Promise<unknown>): Promise<unknown> {
  return work().then(
    () => 'not refused',
    (error: unknown) => error,
  )
}
