import { createEnvelope } from '@waybill/core'
import { createOutboxStore, migrate } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'
import { Child } from '../support/child.ts'
import { report, scale } from '../support/scale.ts'
import type { LargeEventsMessage, LargeEventsTask } from './support/large-events-task.ts'
import { type OpenDatabase, openDatabase, type ServerAddress } from './support/open-database.ts'

const mebibyte = 1_048_576
const eventBytes = 1_000_000

interface Load {
  readonly events: number
  readonly written: number
  readonly heapMegabytes: number
  /** The bound, and the option that sets it. */
  readonly bound: number
  readonly maxBufferedBytes?: number
}

const whole: Load = { events: 1_000, written: 200, heapMegabytes: 512, bound: 64 * mebibyte }
const short: Load = {
  events: 150,
  written: 20,
  heapMegabytes: 96,
  bound: 8 * mebibyte,
  maxBufferedBytes: 8 * mebibyte,
}
const load = scale === 'WHOLE' ? whole : short

const modes = ['singleNode', 'multiNode', 'keyed', 'leasing', 'ordered'] as const
type Mode = (typeof modes)[number]
const title = 'I24 delivers events of a megabyte within its bound of bytes and a small heap: %s'

/** Fills the table with events of a few keys; the server makes them large. */
async function fill(open: OpenDatabase, table: string, count: number): Promise<void> {
  const { database } = open
  await migrate(database, { tables: { outbox: table, inbox: false } })
  const events = Array.from({ length: count }, (_, n) =>
    createEnvelope({
      eventType: 'value.noted',
      aggregateType: 'value',
      aggregateId: `key-${n % 40}`,
      payloadJson: '{}',
    }),
  )
  await database.transaction((tx) =>
    createOutboxStore(database, { table }).insertNew(database.enlist(tx).currentConnection(), events, {
      lease: null,
      availableAt: null,
    }),
  )
  const text = `'x', ${eventBytes - 2}`
  await open.query(
    database.dialect === 'postgres'
      ? `UPDATE ${table} SET payload = ('"' || repeat(${text}) || '"')::json`
      : `UPDATE ${table} SET payload = CONCAT('"', REPEAT(${text}), '"')`,
  )
}

async function deliver(address: ServerAddress, mode: Mode): Promise<void> {
  const { events, written, heapMegabytes, bound, maxBufferedBytes } = load
  const table = `large_${mode.toLowerCase()}`
  await using open = openDatabase(address)
  await fill(open, table, events)
  const handleMs = mode === 'ordered' ? 2 : 15
  const fillBytes = mode === 'ordered' ? bound / 16 : bound / 4
  const task: LargeEventsTask = {
    database: address,
    table,
    mode,
    maxBufferedBytes,
    handleMs,
    fillBytes,
    events,
    written,
    eventBytes,
  }
  await using child = new Child<LargeEventsMessage>(new URL('support/large-events-process.ts', import.meta.url), task, [
    `--max-old-space-size=${heapMegabytes}`,
  ])
  expect(await child.ended).toEqual({ code: 0, signal: null })
  const [measured] = child.of('DELIVERED')
  expect(measured).toMatchObject({ deliveries: events + written, distinct: events + written })
  const { mostBuffered = 0, mostHeap = 0, mostResident = 0 } = measured ?? {}
  // A read begins below the bound and returns at most a quarter of it, and the event that reaches that.
  expect(mostBuffered).toBeLessThanOrEqual(bound + bound / 4 + eventBytes + 1_000)
  expect(mostBuffered).toBeGreaterThan(fillBytes)
  await open.query(`DROP TABLE ${table}`)
  report(
    `${address.dialect}, ${mode}: ${events + written} events of 1 MB, at most ${megabytes(mostBuffered)} buffered, ` +
      `${megabytes(mostHeap)} heap, ${megabytes(mostResident)} resident`,
  )
}

describeWith('postgres')('an outbox on PostgreSQL with large events', ({ postgres }) => {
  test.for(scale === 'WHOLE' ? modes : (['keyed', 'multiNode'] as const))(title, { timeout: 240_000 }, (mode) =>
    deliver({ dialect: 'postgres', url: postgres.url }, mode),
  )
})

describeWith('mysql')('an outbox on MariaDB with large events', ({ mysql }) => {
  test.for(scale === 'WHOLE' ? modes : (['keyed'] as const))(title, { timeout: 240_000 }, (mode) =>
    deliver({ dialect: 'mysql', url: mysql.url }, mode),
  )
})

function megabytes(bytes: number): string {
  return `${Math.round(bytes / mebibyte)} MiB`
}
