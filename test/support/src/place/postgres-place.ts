import pg from 'pg'
import type { Place, PlaceKind } from './place.ts'

/** A schema that belongs to one group of tests. Unqualified names in its pool's statements resolve to it. */
export interface PostgresPlace extends Place {
  readonly schema: string
  /** The address with this schema as its default, for clients that a test opens. */
  readonly url: string
  /** Up to ten connections. */
  readonly pool: pg.Pool
}

/** Schemas as places. */
export const postgresPlaces: PlaceKind<PostgresPlace> = {
  create(url, schema) {
    const own = new URL(url)
    own.searchParams.set('options', `-c search_path=${schema}`)
    own.searchParams.set('application_name', schema)
    const pool = new pg.Pool({ connectionString: own.href })
    // A test may break an idle connection on purpose: that is not an error of the run.
    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    return {
      schema,
      url: own.href,
      pool,
      open: () => withClient(url, async (client) => void (await client.query(`create schema "${schema}"`))),
      async close() {
        const leaked = pool.totalCount - pool.idleCount
        await withClient(url, async (client) => {
          // A test that failed inside a transaction holds locks that would block the drop of the schema.
          await client.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [
            schema,
          ])
          await client.query(`drop schema if exists "${schema}" cascade`)
        })
        if (leaked === 0) await pool.end()
        else throw new Error(`${leaked} of the pool's clients were never released. Release each in a finally block.`)
      },
    }
  },
  sweep: (url, isStale) =>
    withClient(url, async (client) => {
      const { rows } = await client.query<{ name: string }>('select nspname as name from pg_namespace')
      for (const { name } of rows.filter((row) => isStale(row.name)))
        await client.query(`drop schema if exists "${name}" cascade`)
    }),
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
