import { createEnvelope, type EventEnvelope, NoTransactionError, UnknownCommitError } from '@waybill/core'
import type { PendingQuery } from '@waybill/outbox/internal'
import { createVirtualRuntime, SimSqlError } from '@waybill/sim'
import {
  createSimSqlServer,
  type SimDatabase,
  type SimSqlServer,
  type SimTx,
  type SqlFaultProfile,
} from '@waybill/sim/internal'
import { expect, test } from 'vitest'

const allNew: PendingQuery = {
  status: 'NEW',
  limit: 100,
  maxBytes: 1_000_000,
  skipRecentMs: 0,
  floor: null,
  shards: null,
}
const atOnce = { lease: null, availableAt: null } as const

interface Scene {
  readonly runtime: ReturnType<typeof createVirtualRuntime>
  readonly server: SimSqlServer
  readonly database: SimDatabase
  /** Returns the ids of the committed rows. */
  readonly visible: () => Promise<string[]>
}

function event(eventId: string): EventEnvelope {
  return createEnvelope({ eventId, eventType: 'order.placed', aggregateId: 'order-1', payloadJson: '{}' })
}

function always(statement: string, fault: 'refused' | 'cut' | 'lostAnswer'): SqlFaultProfile {
  return { rates: { [statement]: { [fault]: 1 } }, maxDelayMs: 0 }
}

/** Runs a test in virtual time. */
async function play(run: (scene: Scene) => Promise<void>): Promise<void> {
  const runtime = createVirtualRuntime(1)
  const server = createSimSqlServer({ runtime })
  const reader = server.database({ name: 'reader', receive: (work) => work })
  const database = server.database({ name: 'writer', receive: (work) => work })
  const visible = async (): Promise<string[]> => {
    const rows = await reader.connection((connection) => server.store.pollPending(connection, allNew))
    return rows.map(({ eventId }) => eventId)
  }
  await runtime.run(() => run({ runtime, server, database, visible }))
}

test('rows are seen from their commit on, in whatever order transactions end', () =>
  play(async ({ server, database, visible }) => {
    const [first, second] = [await database.begin(), await database.begin()]
    await server.store.insertNew(first.currentConnection(), [event('first')], atOnce)
    await server.store.insertNew(second.currentConnection(), [event('second')], atOnce)
    await second.commit()
    expect(await visible()).toEqual(['second'])
    await first.commit()
    expect(await visible()).toEqual(['first', 'second'])
  }))

test('a rollback to a savepoint removes the rows inserted since, and the rest is committed', () =>
  play(async ({ server, database, visible }) => {
    const bound: boolean[] = []
    await database.transaction(async (tx) => {
      const insert = async (id: string): Promise<void> => {
        const { areBoundToCommit } = await server.store.insertNew(tx.currentConnection(), [event(id)], atOnce)
        bound.push(areBoundToCommit)
      }
      await insert('before')
      await insert('before too')
      const outer = await tx.savepoint()
      await insert('outer')
      const inner = await tx.savepoint()
      await insert('inner')
      await inner.rollback()
      await outer.rollback()
      await insert('after')
      await insert('after too')
    })
    expect(await visible()).toEqual(['before', 'before too', 'after', 'after too'])
    // This database cannot tell for any other row.
    expect(bound).toEqual([false, true, false, false, false, true])
  }))

test('a transaction reports its outcome, and accepts no more statements', () =>
  play(async ({ server, database, visible }) => {
    const outcomes: string[] = []
    const write = (id: string, fails: boolean): Promise<void> =>
      database.transaction(async (tx) => {
        const context = database.enlist(tx)
        context.afterCommit(() => outcomes.push(`${id} committed`))
        context.afterRollback((end) => outcomes.push(`${id} ${end}`))
        expect(database.ambient.currentConnection()).toBe(context.currentConnection())
        await server.store.insertNew(context.currentConnection(), [event(id)], atOnce)
        if (fails) throw new Error('intended')
      })
    await write('one', false)
    await expect(write('two', true)).rejects.toThrow('intended')
    expect(outcomes).toEqual(['one committed', 'two ROLLED_BACK'])
    expect(await visible()).toEqual(['one'])
    const ended = await database.begin()
    expect(ended.endIsSeen).toBe(false)
    await ended.rollback()
    expect(() => database.enlist(ended)).toThrow(NoTransactionError)
  }))

test.each([
  ['lostAnswer', ['one']],
  ['cut', []],
] as const)('a COMMIT hit by %s is unknown to its process and settled in the database', (fault, rows) =>
  play(async ({ server, database, visible }) => {
    let end: string | undefined
    server.setFaults(always('commit', fault))
    const written = database.transaction(async (tx) => {
      tx.afterRollback((how) => {
        end = how
      })
      await server.store.insertNew(tx.currentConnection(), [event('one')], atOnce)
    })
    await expect(written).rejects.toThrow(UnknownCommitError)
    expect(end).toBe('UNKNOWN')
    expect(await visible()).toEqual(rows)
  }),
)

test('a refused statement spoils its transaction, and nothing of it stays', () =>
  play(async ({ server, database, visible }) => {
    const tx = await database.begin()
    await server.store.insertNew(tx.currentConnection(), [event('one')], atOnce)
    server.setFaults(always('insertNew', 'refused'))
    await expect(server.store.insertNew(tx.currentConnection(), [event('two')], atOnce)).rejects.toThrow(SimSqlError)
    await expect(tx.commit()).rejects.toThrow('FAILED')
    expect(await visible()).toEqual([])
  }))

test('a statement whose response is lost is executed, and one that is cut off is not', () =>
  play(async ({ server, database }) => {
    const take = (shard: number) =>
      database.connection((connection) => server.store.takeShards(connection, 'node', [shard], 1_000))
    server.setFaults(always('takeShards', 'lostAnswer'))
    await expect(take(1)).rejects.toThrow('The connection ended')
    server.setFaults(always('takeShards', 'cut'))
    await expect(take(2)).rejects.toThrow('The connection ended')
    expect(server.table.leases.owners().map(({ shard }) => shard)).toEqual([1])
    expect(server.faultCounts).toEqual(
      new Map([
        ['takeShards lostAnswer', 1],
        ['takeShards cut', 1],
      ]),
    )
  }))

test('a dead process leaves nothing open, and its sent statements are executed', () =>
  play(async ({ runtime, server, database, visible }) => {
    const [open, sent] = [await database.begin(), await database.begin()]
    await server.store.insertNew(open.currentConnection(), [event('open')], atOnce)
    await server.store.insertNew(sent.currentConnection(), [event('sent')], atOnce)
    void sent.commit()
    server.abandon('writer')
    await runtime.timers.sleep(10)
    expect(await visible()).toEqual(['sent'])
    expect(server.table.rows).toHaveLength(1)
  }))

test('a database that is down does not respond, and keeps committed rows', () =>
  play(async ({ server, database, visible }) => {
    const tx = await database.begin()
    await server.store.insertNew(tx.currentConnection(), [event('lost')], atOnce)
    await database.transaction(async (other) => {
      await server.store.insertNew(other.currentConnection(), [event('kept')], atOnce)
    })
    server.stop()
    await expect(visible()).rejects.toThrow('The connection ended')
    await expect(tx.commit()).rejects.toThrow(UnknownCommitError)
    server.start()
    expect(await visible()).toEqual(['kept'])
  }))

test('a lock is held until its transaction ends, by whatever end', () =>
  play(async ({ runtime, server, database }) => {
    const [first, second, third] = [await database.begin(), await database.begin(), await database.begin()]
    const order: string[] = []
    const take = async (name: string, tx: SimTx): Promise<void> => {
      await tx.lock('key')
      order.push(name)
    }
    await first.lock('key')
    const waitingSecond = take('second', second)
    await runtime.timers.sleep(100) // It is in the queue before the next one comes.
    const waitingThird = take('third', third)
    await runtime.timers.sleep(100)
    expect(order).toEqual([])
    await first.commit()
    await waitingSecond
    expect(order).toEqual(['second'])
    second.session.end(true)
    await waitingThird
    expect(order).toEqual(['second', 'third'])
    expect(server.table.rows).toEqual([])
  }))

test('leases end by the clock of the database, which may jump', () =>
  play(async ({ server, database }) => {
    const take = (owner: string) =>
      database.connection((connection) => server.store.takeShards(connection, owner, [1], 1_000))
    expect(await take('one')).toHaveLength(1)
    expect(await take('other')).toHaveLength(0)
    server.jump(1_000)
    expect(await take('other')).toHaveLength(1)
    server.jump(-5_000)
    server.jump(5_900)
    expect(await take('one')).toHaveLength(0)
  }))
