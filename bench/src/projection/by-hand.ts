/** The same read model, written by hand: decode, one statement, commit. */

import { decodeEvent } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type pg from 'pg'
import { ledger } from './ledger-events.ts'

const upsert = `
  INSERT INTO reference_balance AS r (account_id, balance, credits, version)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
  ON CONFLICT (account_id) DO UPDATE SET balance = r.balance + excluded.balance, credits = r.credits + excluded.credits,
    version = excluded.version WHERE r.version < excluded.version`

/** Sums a batch by key, and adds the sums with one statement. It finds no gap, and repeats only of whole batches. */
export async function projectBatch(client: pg.PoolClient, records: readonly KafkaRecord[]): Promise<void> {
  const sums = new Map<string, { balance: number; credits: number; version: number }>()
  for (const record of records) {
    const { payload, aggregateVersion } = await decodeEvent(ledger, record)
    const sum = sums.get(payload.accountId) ?? { balance: 0, credits: 0, version: 0 }
    sum.balance += payload.amount
    sum.credits += 1
    sum.version = aggregateVersion ?? 0
    sums.set(payload.accountId, sum)
  }
  const rows = [...sums].toSorted(([one], [other]) => (one < other ? -1 : 1))
  await client.query('BEGIN')
  await client.query(upsert, [
    rows.map(([key]) => key),
    rows.map(([, { balance }]) => balance),
    rows.map(([, { credits }]) => credits),
    rows.map(([, { version }]) => version),
  ])
  await client.query('COMMIT')
}
