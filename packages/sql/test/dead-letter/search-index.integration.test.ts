import { fromPg, migrate } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'

describeWith('postgres')('the search index of dead letters', ({ postgres }) => {
  /** Opens a schema of a database in which no extension exists yet. */
  const openSchema = async (database: string, schema: string): Promise<pg.Pool> => {
    const url = new URL(postgres.url)
    url.pathname = `/${database}`
    url.searchParams.set('options', `-c search_path=${schema}`)
    const pool = new pg.Pool({ connectionString: url.href, max: 2 })
    onTestFinished(() => pool.end())
    await pool.query(`create schema "${schema}"`)
    await migrate(fromPg(pool), { tables: { outbox: false, inbox: false, admin: 'waybill' } })
    return pool
  }

  test('stays when another schema that has one is dropped', async () => {
    const database = `${postgres.schema}_search`
    await postgres.pool.query(`create database "${database}"`)
    onTestFinished(async () => void (await postgres.pool.query(`drop database "${database}" with (force)`)))
    await openSchema(database, 'first')
    const second = await openSchema(database, 'second')

    await second.query('drop schema first cascade')

    const { rows } = await second.query("select indexname from pg_indexes where schemaname = 'second'")
    expect(rows.map(({ indexname }) => indexname)).toContain('waybill_dead_letter_searched')
  })
})
