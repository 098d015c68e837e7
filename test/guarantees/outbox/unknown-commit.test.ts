import { UnknownCommitError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { createOutboxStore } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { createFaultProxy, eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Book } from './support/book.ts'
import { openDatabase, type ServerAddress, targetOf, throughProxy } from './support/open-database.ts'
import { guaranteeEvents } from './support/outbox-task.ts'

type Lost = 'the answer to COMMIT' | 'COMMIT itself'

const modes = ['multiNode', 'keyed'] as const
type Case = readonly [mode: (typeof modes)[number], lost: Lost]
const cases = modes.flatMap((mode): Case[] => [
  [mode, 'the answer to COMMIT'],
  [mode, 'COMMIT itself'],
])

/** Short, because an event of a commit in doubt may wait for it. */
const timeoutMs = 2_000
const patient = { deadlineMs: 30_000, everyMs: 20 }

async function loseConnectionDuringCommit(address: ServerAddress, [mode, lost]: Case): Promise<void> {
  await using proxy = createFaultProxy({ target: targetOf(address) })
  await proxy.start()
  await using direct = openDatabase(address)
  await using open = openDatabase(throughProxy(address, proxy))
  const { database } = open
  const table = `unknown_${mode.toLowerCase()}_${lost === 'COMMIT itself' ? 'request' : 'answer'}`
  const book = new Book(direct, table)
  await book.create()
  const delivered: string[] = []
  const options = {
    events: guaranteeEvents('nowhere'),
    database,
    store: createOutboxStore(database, { table }),
    listeners: {
      listenerFor: () => async (event: { readonly payloadJson: string }) =>
        void delivered.push((JSON.parse(event.payloadJson) as { value: string }).value),
    },
    claimLocking: { timeoutMs },
    intervalMs: 50,
    purge: false,
  } as const
  await using outbox = mode === 'keyed' ? Outbox.keyed(options) : Outbox.multiNode(options)
  await outbox.start()

  let eventId: string | null = null
  const write = async (value: string, atEnd: () => void = () => {}): Promise<void> =>
    database.transaction(async (tx) => {
      eventId = await outbox.write(tx, 'value.noted', { value, key: 'key' })
      await new Book(open, table).add(tx, [{ eventId: String(eventId), value, key: 'key', number: value.length }])
      atEnd()
    })
  await write('before')
  await eventually(() => expect(delivered).toEqual(['before']), patient)

  const waiting = proxy.stats.waitingBytes
  const writing = write('in doubt', () => proxy.hold(lost === 'COMMIT itself' ? 'TO_TARGET' : 'TO_CLIENT')).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (lost === 'COMMIT itself')
    await eventually(() => expect(proxy.stats.waitingBytes).toBeGreaterThan(waiting), patient)
  else await eventually(async () => expect(await book.count()).toBe(2), patient)
  proxy.cut()
  proxy.heal()
  expect(await writing).toBeInstanceOf(UnknownCommitError)

  // The key is ordered, so the last event shows that the one before it was checked.
  await eventually(() => write('last one'), patient)
  await eventually(() => expect(delivered).toContain('last one'), patient)
  await eventually(async () => expect(await book.pending()).toBe(0), patient)
  const committed = (await book.rows()).map(({ value }) => value)
  expect(committed.includes('in doubt')).toBe(lost === 'the answer to COMMIT')
  expect(delivered.toSorted()).toEqual(committed.toSorted())
}

const title = 'gets an unknown outcome, and the event is delivered if and only if its row exists: %s, losing %s'

describeWith('postgres')('a writer on PostgreSQL that loses its connection during COMMIT', ({ postgres }) => {
  test.concurrent.for(cases)(title, { timeout: 60_000 }, (one) =>
    loseConnectionDuringCommit({ dialect: 'postgres', url: postgres.url }, one),
  )
})

describeWith('mysql')('a writer on MariaDB that loses its connection during COMMIT', ({ mysql }) => {
  test.concurrent.for(cases)(title, { timeout: 60_000 }, (one) =>
    loseConnectionDuringCommit({ dialect: 'mysql', url: mysql.url }, one),
  )
})
