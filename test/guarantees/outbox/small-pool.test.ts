import { systemTimers } from '@waybill/core/internal'
import { Outbox } from '@waybill/outbox'
import { createOutboxStore, fromMysql2, fromPg, fromPostgresJs, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { Book } from './support/book.ts'
import { inDialect, type OpenDatabase } from './support/open-database.ts'
import { guaranteeEvents } from './support/outbox-task.ts'

/** As many listeners as connections, each of which holds one for longer than a lease lasts. */
const connections = 4
const leaseMs = 4_000
const holdMs = 5_000
const eventCount = 12
const modes = ['keyed', 'leasing', 'multiNode'] as const
type Mode = (typeof modes)[number]

const drivers = {
  pg(url: string) {
    const pool = new pg.Pool({ connectionString: url, max: connections })
    return { database: fromPg(pool) as SqlDatabase<unknown>, close: () => pool.end() }
  },
  postgresJs(url: string) {
    const connect = (max: number) =>
      postgres(url.split('?')[0] ?? url, { max, connection: { search_path: searchPathOf(url) } })
    // It lets no connection be kept, so the outbox gets a pool of its own.
    const [sql, own] = [connect(connections), connect(2)]
    const database: SqlDatabase<unknown> = fromPostgresJs(sql, { background: fromPostgresJs(own) })
    return { database, close: async () => void (await Promise.all([sql, own].map((one) => one.end({ timeout: 5 })))) }
  },
  mysql2(url: string) {
    const pool = createPool({ uri: url, connectionLimit: connections })
    return { database: fromMysql2(pool) as SqlDatabase<unknown>, close: () => pool.end() }
  },
}

/** Returns the schema of a private database; postgres.js does not read the option itself. */
function searchPathOf(url: string): string {
  return /search_path=(\w+)/.exec(new URL(url).searchParams.get('options') ?? '')?.[1] ?? 'public'
}

function open(driver: keyof typeof drivers, url: string): OpenDatabase {
  const { database, close } = drivers[driver](url)
  return {
    database,
    query: (text, ...values) =>
      database.connection(async (connection) => (await connection.query(inDialect(text, database), values)).rows),
    [Symbol.asyncDispose]: close,
  }
}

async function deliversAllOnce(driver: keyof typeof drivers, url: string, mode: Mode): Promise<void> {
  await using opened = open(driver, url)
  const { database } = opened
  const table = `small_pool_${driver.toLowerCase()}_${mode.toLowerCase()}`
  const book = new Book(opened, table)
  await book.create()
  const [began, canceled]: [string[], string[]] = [[], []]
  const options = {
    events: guaranteeEvents('nowhere'),
    database,
    store: createOutboxStore(database, { table }),
    listeners: {
      listenerFor: () => async (event: { readonly eventId: string }, context: { readonly signal: AbortSignal }) => {
        began.push(event.eventId)
        context.signal.addEventListener('abort', () => void canceled.push(event.eventId), { once: true })
        await database.transaction(() => systemTimers.sleep(holdMs, context.signal))
      },
    },
    intervalMs: 50,
    purge: false,
  } as const
  const claimLocking = { timeoutMs: leaseMs }
  await using outbox =
    mode === 'leasing'
      ? Outbox.leasing({ ...options, claimLocking, maxInFlight: connections, instanceCount: 1, instanceId: 0 })
      : Outbox[mode]({ ...options, claimLocking, workerCount: connections })
  const eventIds = await database.transaction(async (tx) => {
    const ids: string[] = []
    for (let number = 0; number < eventCount; number++)
      ids.push(String(await outbox.write(tx, 'value.noted', { value: `v${number}`, key: `key-${number}` })))
    return ids
  })
  await outbox.start()
  await eventually(() => expect(began.length).toBeGreaterThanOrEqual(eventCount), { deadlineMs: 90_000, everyMs: 50 })
  await Promise.all(eventIds.map((id) => outbox.published(id, { deadlineMs: 30_000 })))
  expect({ began: began.toSorted(), canceled }).toEqual({ began: eventIds.toSorted(), canceled: [] })
}

describeWith('postgres')('listeners that hold every connection of the pool, on PostgreSQL', ({ postgres: { url } }) => {
  test.concurrent.for(modes)(
    'do not starve the leases: each event is delivered once: pg, %s',
    { timeout: 150_000 },
    (mode) => deliversAllOnce('pg', url, mode),
  )

  test.concurrent.for(modes)(
    'do not starve the leases: each event is delivered once: postgres.js, %s',
    { timeout: 150_000 },
    (mode) => deliversAllOnce('postgresJs', url, mode),
  )
})

describeWith('mysql')('listeners that hold every connection of the pool, on MariaDB', ({ mysql: { url } }) => {
  test.concurrent.for(modes)(
    'do not starve the leases: each event is delivered once: mysql2, %s',
    { timeout: 150_000 },
    (mode) => deliversAllOnce('mysql2', url, mode),
  )
})
