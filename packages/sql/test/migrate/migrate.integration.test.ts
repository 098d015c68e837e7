import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fromMysql2, fromPg, fromSqlite } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { describe, onTestFinished } from 'vitest'
import { migrationTests } from './migrate-behaviour.ts'

describe('migrations on SQLite', () => {
  migrationTests(() => {
    const folder = mkdtempSync(join(tmpdir(), 'waybill-migrate-'))
    const handles = [1, 2].map(() => new DatabaseSync(join(folder, 'test.db'))) as [DatabaseSync, DatabaseSync]
    onTestFinished(() => {
      for (const handle of handles) handle.close()
      rmSync(folder, { recursive: true })
    })
    return { one: fromSqlite(handles[0]), other: fromSqlite(handles[1]) }
  })
})

describeWith('postgres')('migrations on PostgreSQL', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  migrationTests(async () => {
    await postgres.pool.query(`drop schema "${postgres.schema}" cascade; create schema "${postgres.schema}"`)
    return { one: database, other: database }
  })
})

describeWith('mysql')('migrations on MySQL', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  migrationTests(async () => {
    const [tables] = await mysql.pool.query(
      'select table_name as name from information_schema.tables where table_schema = database()',
    )
    for (const { name } of tables as { name: string }[]) await mysql.pool.query(`drop table \`${name}\``)
    return { one: database, other: database }
  })
})
