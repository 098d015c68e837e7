import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SqlDialect } from '../../src/database/sql-database.ts'
import { migrationSql } from '../../src/migrate/migrate.ts'

const page = await readFile(join(import.meta.dirname, '../../../../docs/reference/outbox-schema.md'), 'utf8')
const headings: Readonly<Record<SqlDialect, string>> = {
  postgres: 'PostgreSQL',
  mysql: 'MySQL, MariaDB',
  sqlite: 'SQLite',
}

/** The table of columns below a heading: each column's cell for a dialect. */
function columnsOnPage(heading: string, dialect: SqlDialect): Map<string, string> {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n#')[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()))
  const place = cells[0]?.indexOf(headings[dialect]) ?? -1
  return new Map(cells.slice(2).map((row) => [row[1]?.replaceAll('`', '') ?? '', row[place] ?? '']))
}

/** The columns of a table and their types, as the migrations make it. */
function columnsOf(table: string, dialect: SqlDialect): Map<string, string> {
  const text = migrationSql(dialect, { tables: { inbox: false } })
  const body = new RegExp(`CREATE TABLE IF NOT EXISTS ["\`]${table}["\`] \\(\n(.*?)\n\\)`, 's').exec(text)?.[1] ?? ''
  const lines = [...body.matchAll(/^ {2}(?!KEY |PRIMARY )(\w+) (\w+(?:\(\d+\))?)/gm)]
  return new Map(lines.map(([, name, type]) => [name ?? '', (type ?? '').toLowerCase()]))
}

describe.each(['postgres', 'mysql', 'sqlite'] as const)('the page of the schema, on %s', (dialect) => {
  test.each(['outbox_event', 'outbox_event_shard', 'outbox_event_history'])(
    'has every column of %s with its type, and no other',
    (table) => {
      const made = columnsOf(table, dialect)
      // Described in their own sentence: they emulate partial indexes.
      for (const name of ['retry_at', 'pending_shard']) if (made.delete(name)) expect(page).toContain(`\`${name}\``)
      const told = columnsOnPage(table, dialect)
      expect([...told.keys()].toSorted()).toEqual([...made.keys()].toSorted())
      for (const [name, type] of made) expect(told.get(name)?.startsWith(type), `${name} ${type}`).toBe(true)
    },
  )

  test('names every index', () => {
    const text = migrationSql(dialect, { tables: { inbox: false } })
    const names = [...text.matchAll(/(?:INDEX IF NOT EXISTS|^ {2}KEY) ["`]?(\w+)/gm)].map((match) => match[1] ?? '')
    expect(names.length).toBeGreaterThan(2)
    for (const name of names) expect(page).toContain(`\`${name}\``)
  })
})
