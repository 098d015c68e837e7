/** Measures the dead letter index on PostgreSQL with a million dead letters, beside a count of all rows. */

import type { DeadLetterFilter, DeadLetterIndex } from '@waybill/core/internal'
import { createDeadLetterIndex, fromPg, migrate } from '@waybill/sql'
import { Pool } from 'pg'
import type { BenchOptions } from '../bench-options.ts'
import { compare } from '../statistics.ts'
import { fillLetters, hourMs, indexedNow, newLetters } from './letter-rows.ts'

const url = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'
const letters = Number(process.env['WAYBILL_BENCH_LETTERS'] ?? 1_000_000)
const schema = 'bench_dead_letters'
const page = { limit: 50 }

type Work = (index: DeadLetterIndex, round: number) => Promise<unknown>

const day = { sinceMs: indexedNow - 24 * hourMs - 1_234_567 }
const all = ['eventType', 'exception', 'binding', 'reason', 'state'] as const
const list =
  (filter: DeadLetterFilter): Work =>
  (index) =>
    index.query(filter, page)

const cases: Readonly<Record<string, Work>> = {
  'groups by count': (index) => index.groups({}, 'COUNT', page),
  'groups by last death, of a day': (index) => index.groups(day, 'LAST', page),
  'groups of a binding, OPEN': (index) => index.groups({ binding: 'binding-3', states: ['OPEN'] }, 'COUNT', page),
  'facets, all five': (index) => index.facets({}, all),
  'facets, of a day': (index) => index.facets(day, all),
  'list, newest': list({}),
  'list, OPEN of a group': list({ group: 'group-17', states: ['OPEN'] }),
  'list, rare exception': list({ exception: 'Error199' }),
  'list, binding and day': list({ ...day, binding: 'binding-3' }),
  'list, second page': async (index) => {
    const { next } = await index.query({ states: ['OPEN'] }, page)
    return index.query({ states: ['OPEN'] }, { ...page, cursor: next ?? undefined })
  },
  'list, FAILED_AGAIN': list({ states: ['FAILED_AGAIN'] }),
  'search, one record': list({ text: 'order o-777777 ' }),
  'search, a carrier': list({ text: 'CARRIER-17 ' }),
  'search, every message': list({ text: 'timeout' }),
  'search, no message': list({ text: 'no such text' }),
  'search, groups of a carrier': (index) => index.groups({ text: 'carrier-17 ' }, 'COUNT', page),
  key: list({ key: 'o-777777' }),
  'key, beginning': list({ key: 'o-7777*' }),
  trace: list({ traceId: '000000000000000000000000000bde31' }),
  'put of 500': (index, round) => index.put(newLetters(round), []),
  'mark of 100': (index, round) => index.mark(newLetters(round).slice(0, 100), ['OPEN'], 'REPLAYED', `op_${round}`),
}

/** Runs every case. */
export async function runDeadLettersBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 2 })
  try {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await pool.query(`CREATE SCHEMA ${schema}`)
    const database = fromPg(pool)
    const table = `${schema}.waybill`
    await migrate(database, { tables: { outbox: false, inbox: false, admin: table } })
    progress(`filling ${letters} dead letters`)
    await fillLetters(pool, schema, letters)
    const index = createDeadLetterIndex(database, { table })
    for (const [name, work] of Object.entries(cases)) {
      if (!name.includes(only) && !(name.startsWith('mark') && 'put of 500'.includes(only))) continue
      const ours: number[] = []
      const theirs: number[] = []
      await work(index, -1)
      for (let round = 0; round < rounds; round++) {
        ours.push(await timed(() => work(index, round)))
        theirs.push(await timed(() => pool.query(`SELECT COUNT(*) FROM ${schema}.waybill_dead_letter`)))
      }
      progress(`${name}: ${spreadOf(ours)}`)
      report(compare({ bench: 'dead-letters', case: name, unit: 'ms', reference: 'COUNT(*)' }, ours, theirs, true))
    }
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await pool.end()
  }
}

/** The slowest calls matter to the operator who waits for a page: run it with `--rounds 100` to read the 99th percentile. */
function spreadOf(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number): string => (sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN).toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms of ${times.length}`
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
