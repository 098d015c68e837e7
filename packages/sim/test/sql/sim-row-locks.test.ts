import { createEnvelope } from '@waybill/core'
import { type RowRef, RowsLockedError } from '@waybill/outbox/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { createSimSqlServer } from '@waybill/sim/internal'
import { expect, test } from 'vitest'

/** A server with two committed rows, and the calls of a process. */
function setup() {
  const runtime = createVirtualRuntime(1)
  const server = createSimSqlServer({ runtime })
  const { store, table } = server
  const database = server.database()
  const events = ['one', 'two'].map((eventId) =>
    createEnvelope({ eventId, eventType: 'order.placed', aggregateId: 'order-1', payloadJson: '{}' }),
  )
  const rows = table.insert(events, { lease: null, availableAt: null })
  table.commit(rows)
  const refs: RowRef[] = rows.map(({ seq, event: { eventId } }) => ({ seq, eventId }))
  const seqs = refs.map(({ seq }) => seq)
  const finish = (some: readonly RowRef[] = refs): Promise<bigint[]> =>
    database.connection((connection) => store.markDone(connection, some, { kind: 'NONE' }, { whenDone: 'KEEP' }))
  const locked = (): Promise<ReadonlySet<bigint>> =>
    database.connection((connection) => store.lockedRows(connection, refs))
  const claim = () =>
    database.connection((connection) =>
      store.claimPending(
        connection,
        { owner: 'node', version: 1n, timeoutMs: 1_000 },
        { status: 'NEW', limit: 10, maxBytes: 1_000_000, skipRecentMs: 0, floor: null, shards: null },
      ),
    )
  return { runtime, server, table, refs, seqs, finish, locked, claim }
}

test('a statement gives up on a locked row, and changes none', async () => {
  const { runtime, server, table, seqs, finish, locked } = setup()
  using _ = server.rowLocks.lock(seqs.slice(0, 1))
  await runtime.run(async () => {
    await expect(finish()).rejects.toThrow(RowsLockedError)
    expect(await locked()).toEqual(new Set(seqs.slice(0, 1)))
  })
  expect(table.rows.map(({ status }) => status)).toEqual(['NEW', 'NEW'])
})

test('a statement that waits is carried out once the row is free', async () => {
  const { runtime, server, seqs, finish } = setup()
  const lock = server.rowLocks.lock(seqs)
  runtime.timers.schedule(100, () => lock[Symbol.dispose]())
  expect(await runtime.run(() => finish())).toEqual(seqs)
})

test('rows beside a locked one are finished and claimed', async () => {
  const { runtime, server, refs, seqs, finish, claim } = setup()
  using _ = server.rowLocks.lock(seqs.slice(0, 1))
  await runtime.run(async () => {
    expect((await claim()).map(({ seq }) => seq)).toEqual(seqs.slice(1))
    expect(await finish(refs.slice(1))).toEqual(seqs.slice(1))
  })
})

test('a row is free when the last of its locks is', async () => {
  const { server, seqs } = setup()
  const [first, second] = [server.rowLocks.lock(seqs), server.rowLocks.lock(seqs)]
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  expect(server.rowLocks.isLocked(seqs[0] ?? 0n)).toBe(true)
  second[Symbol.dispose]()
  expect(server.rowLocks.isLocked(seqs[0] ?? 0n)).toBe(false)
})

test('a row that is gone is not locked', async () => {
  const { runtime, server, table, seqs, locked } = setup()
  using _ = server.rowLocks.lock(seqs)
  table.rows.splice(0)
  expect(await runtime.run(locked)).toEqual(new Set())
})
