import { describeWith } from '@waybill/test-support'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { fromPostgresJs } from '../../src/adapter/from-postgres-js.ts'
import { describeAdapter, describeDoomedTransaction } from './adapter-behaviour.ts'
import type { OpenedLibrary } from './opened-library.ts'
import { postgresJsUrl } from './postgres-js-url.ts'
import { postgresWitness } from './postgres-witness.ts'

async function open(url: string): Promise<OpenedLibrary<postgres.TransactionSql>> {
  const { address, searchPath } = postgresJsUrl(url)
  const sql = postgres(address, { max: 5, connection: { search_path: searchPath }, backoff: () => 0 })
  return {
    database: fromPostgresJs(sql),
    run: (tx, text) => tx.unsafe(text),
    ownTransaction: (work) => sql.begin(work),
    // By type such a handle cannot be handed in.
    outside: (use) => use(sql as unknown as postgres.TransactionSql),
    close: () => sql.end({ timeout: 5 }),
    refusesEnds: true,
  }
}

test('a sql without fetch_types is refused, because it never reserves a new connection', () => {
  const sql = postgres('postgres://nowhere', { fetch_types: false })
  expect(() => fromPostgresJs(sql)).toThrow('expects postgres.js with fetch_types')
})

describeWith('postgres')('postgres.js', (places) => {
  describeAdapter(postgresWitness(places.postgres), open)
  describeDoomedTransaction(postgresWitness(places.postgres), open)
})
