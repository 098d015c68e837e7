/**
 * What databases were migrated with is theirs for good: a migration that changed afterwards would be refused by every
 * database that has it. A change of tables is a new migration behind the others.
 */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { migrationSql } from '@waybill/sql'
import { describe, expect, test } from 'vitest'

describe('the migrations of the outbox', () => {
  test.each(['postgres', 'mysql', 'sqlite'] as const)('are on %s what they were', async (dialect) => {
    const released = await readFile(join(import.meta.dirname, 'released', `outbox.${dialect}.sql`), 'utf8')
    expect(migrationSql(dialect, { tables: { inbox: false } })).toBe(released)
  })
})
