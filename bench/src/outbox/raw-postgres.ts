/**
 * Hand-written outboxes: a loop on one connection for each design, without a listener, failures or a second node. The
 * difference to the engine of the same design is the cost of the engine.
 */

import { shardCount } from '@waybill/outbox/internal'
import type pg from 'pg'
import { rawOwner } from './postgres-tables.ts'

/** Drains a table. @param done called after each statement that finished rows */
type RawDrain = (client: pg.PoolClient, done: (events: number) => void) => Promise<void>

const batch = 500
const columns =
  'seq, event_id, event_type, aggregate_type, aggregate_id, tenant_id, payload::text AS payload, headers::text AS headers, occurred_at, attempts'

interface SeqRow {
  readonly seq: string
  readonly event_id: string
}

/** The statement that finishes rows. */
interface Finish {
  readonly text: string
  readonly values: (rows: readonly SeqRow[]) => unknown[]
}

const numbersOf = (rows: readonly SeqRow[]): string => `{${rows.map(({ seq }) => seq).join(',')}}`

/** Names the event beside its number, which a failover may give to another event. */
const namesOf = (rows: readonly SeqRow[]): string[] => rows.map(({ seq, event_id }) => `${seq} ${event_id}`)

async function drainByClaims(
  client: pg.PoolClient,
  done: (events: number) => void,
  claim: { readonly text: string; readonly values: (floor: string) => unknown[] },
  finish: Finish,
): Promise<void> {
  let floor = '0'
  for (;;) {
    const { rows } = await client.query<SeqRow>({ text: claim.text, values: claim.values(floor) })
    const last = rows.at(-1)
    if (last === undefined) return
    floor = last.seq
    const { rowCount } = await client.query({ text: finish.text, values: finish.values(rows) })
    done(rowCount as number)
  }
}

/** The reference: claims 500 rows and finishes them with one UPDATE. */
const reference: RawDrain = (client, done) =>
  drainByClaims(
    client,
    done,
    {
      text:
        `UPDATE reference_event SET locked_by = $1, locked_at = statement_timestamp(), lease_version = $2 WHERE seq = ANY(ARRAY(` +
        `SELECT seq FROM reference_event WHERE status = 0 AND available_at <= statement_timestamp() ` +
        `AND (locked_at IS NULL OR locked_at < statement_timestamp() - interval '30 seconds') ` +
        `ORDER BY available_at, seq LIMIT ${batch} FOR UPDATE SKIP LOCKED)) RETURNING ${columns}`,
      values: () => [rawOwner, 1],
    },
    {
      text: `UPDATE reference_event SET status = 1, done_at = statement_timestamp() WHERE seq = ANY($1::bigint[])`,
      values: (rows) => [numbersOf(rows)],
    },
  )

const claimAboveFloor = {
  text:
    `UPDATE outbox_event SET locked_by = $1, locked_at = statement_timestamp(), lease_version = $2, ` +
    `locked_until = statement_timestamp() + interval '30 seconds' WHERE seq = ANY(ARRAY(` +
    `SELECT seq FROM outbox_event WHERE (CASE WHEN status = 0 THEN 1 ELSE 0 END) > 0 AND seq > $3 ` +
    `AND available_at <= statement_timestamp() AND (locked_until IS NULL OR locked_until < statement_timestamp()) ` +
    `ORDER BY seq LIMIT ${batch} FOR UPDATE SKIP LOCKED)) RETURNING ${columns}`,
  values: (floor: string) => [rawOwner, 1, floor],
}

const setDone =
  'UPDATE outbox_event SET status = 1, done_at = statement_timestamp(), locked_by = NULL, locked_at = NULL, locked_until = NULL'
const isNamed = `seq = ANY($1::bigint[]) AND seq || ' ' || event_id = ANY($2::text[])`

function ofClaimed(action: string): Finish {
  return {
    text: `${action} WHERE ${isNamed} AND status IN (0, 2) AND locked_by = '${rawOwner}' AND lease_version = 1`,
    values: (rows) => [numbersOf(rows), namesOf(rows)],
  }
}

/** Claims within a page, above the rows claimed before, and finishes with a fenced UPDATE. */
const claimKeep: RawDrain = (client, done) => drainByClaims(client, done, claimAboveFloor, ofClaimed(setDone))

/** Claims in the same way and finishes with a fenced DELETE. */
const claimDelete: RawDrain = (client, done) =>
  drainByClaims(client, done, claimAboveFloor, ofClaimed('DELETE FROM outbox_event'))

/** Finishes rows that were inserted claimed, whose events are in memory. */
async function finishClaimed(client: pg.PoolClient, done: (events: number) => void, finish: Finish): Promise<void> {
  const { rows } = await client.query<SeqRow>('SELECT seq, event_id FROM outbox_event ORDER BY seq')
  for (let at = 0; at < rows.length; at += batch) {
    const values = finish.values(rows.slice(at, at + batch))
    const { rowCount } = await client.query({ text: finish.text, values })
    done(rowCount as number)
  }
}

const hotKeep: RawDrain = (client, done) => finishClaimed(client, done, ofClaimed(setDone))

const hotDelete: RawDrain = (client, done) => finishClaimed(client, done, ofClaimed('DELETE FROM outbox_event'))

/** Drains shard by shard: reads without a claim and finishes under the shard's lease. */
async function drainByShards(client: pg.PoolClient, done: (events: number) => void, finish: string): Promise<void> {
  await client.query(
    `INSERT INTO outbox_event_shard (shard, owner, version, expires_at) SELECT n, '${rawOwner}', 1, 'infinity'
     FROM generate_series(0, ${shardCount - 1}) AS n
     ON CONFLICT (shard) DO UPDATE SET owner = '${rawOwner}', version = 1, expires_at = 'infinity'`,
  )
  const read =
    `SELECT ${columns}, shard FROM outbox_event WHERE (CASE WHEN status IN (0, 2) THEN 1 ELSE 0 END) <> 0 ` +
    `AND shard = $1 AND seq > $2 ORDER BY seq LIMIT ${batch}`
  const fence =
    `${isNamed} AND status IN (0, 2) AND EXISTS (SELECT 1 FROM outbox_event_shard WHERE shard = $3 ` +
    `AND owner = '${rawOwner}' AND version = 1 AND expires_at > statement_timestamp() FOR SHARE)`
  for (let shard = 0; shard < shardCount; shard++)
    for (let floor = '0'; ; ) {
      const { rows } = await client.query<SeqRow>({ text: read, values: [shard, floor] })
      const last = rows.at(-1)
      if (last === undefined) break
      floor = last.seq
      const values = [numbersOf(rows), namesOf(rows), shard]
      const { rowCount } = await client.query({ text: `${finish} WHERE ${fence}`, values })
      done(rowCount as number)
    }
  await client.query(`DELETE FROM outbox_event_shard`)
}

const keyedKeep: RawDrain = (client, done) => drainByShards(client, done, setDone)

const keyedDelete: RawDrain = (client, done) => drainByShards(client, done, 'DELETE FROM outbox_event')

export type RawDesign =
  | 'reference'
  | 'claimKeep'
  | 'claimDelete'
  | 'hotKeep'
  | 'hotDelete'
  | 'keyedKeep'
  | 'keyedDelete'

export const rawDrains: Readonly<Record<RawDesign, RawDrain>> = {
  reference,
  claimKeep,
  claimDelete,
  hotKeep,
  hotDelete,
  keyedKeep,
  keyedDelete,
}
