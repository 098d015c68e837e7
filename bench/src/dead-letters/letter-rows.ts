/** The dead letters of the benchmark: a week of them, 200 failures of very different sizes, 8 bindings. */

import type { IndexedDeadLetter } from '@waybill/core/internal'
import type { Pool } from 'pg'

export const hourMs = 3_600_000
/** The time of the newest dead letter: a fixed hour, so that runs are alike. */
export const indexedNow: number = 490_000 * hourMs
const weekMs = 7 * 24 * hourMs

const shared = 'cluster, topic, binding, group_id, event_type, exception, reason, state'

/** Adds rows and their counts by statements of the server: a reader would take minutes. */
export async function fillLetters(pool: Pool, schema: string, letters: number): Promise<void> {
  await pool.query(
    `INSERT INTO ${schema}.waybill_dead_letter
     SELECT 'default', 'orders.DLT', n % 12, n / 12, 'binding-' || g % 8, 'shipping', 'orders', n % 12, n, at - 60000, at,
       'RETRIES_EXHAUSTED', 'Error' || g, text, 'src/handler-' || g || '.ts', 'group-' || g, 'order.event' || g % 20,
       'e-' || n, 'o-' || n, 3, 0, lpad(to_hex(n), 32, '0'), 900,
       CASE WHEN n % 20 < 16 THEN 'OPEN' WHEN n % 20 < 18 THEN 'SUCCEEDED' WHEN n % 20 < 19 THEN 'REPLAYED' ELSE 'FAILED_AGAIN' END,
       NULL, lower(text || chr(10) || 'o-' || n)
     FROM (
       SELECT n, g, ${indexedNow}::bigint - (n::bigint * 7919 * 61) % ${weekMs} AS at,
         'Timeout of carrier-' || n % 97 || ' for order o-' || n || ' in step ' || g AS text
       FROM (SELECT n, floor(200 * power((n::bigint * 104729 % 1000003) / 1000003.0, 3))::int AS g FROM generate_series(1, ${letters}) n) a
     ) b`,
  )
  await pool.query(
    `INSERT INTO ${schema}.waybill_dead_letter_count (id, ${shared}, died_hour, n, first_at, last_at)
     SELECT md5(row_number() OVER () :: text), ${shared}, (dead_at / ${hourMs})::int, COUNT(*), MIN(dead_at), MAX(dead_at)
     FROM ${schema}.waybill_dead_letter GROUP BY ${shared}, (dead_at / ${hourMs})::int`,
  )
  await pool.query(`VACUUM ANALYZE ${schema}.waybill_dead_letter`)
  await pool.query(`VACUUM ANALYZE ${schema}.waybill_dead_letter_count`)
}

/** Returns the dead letters of one batch of a reader. */
export function newLetters(round: number): readonly IndexedDeadLetter[] {
  return Array.from({ length: 500 }, (_, at): IndexedDeadLetter => {
    const no = 10_000_000 + round * 500 + at
    return {
      cluster: 'default',
      topic: 'orders.DLT',
      partition: no % 12,
      offset: BigInt(no),
      binding: `binding-${no % 8}`,
      consumerGroup: 'shipping',
      originalTopic: 'orders',
      originalPartition: no % 12,
      originalOffset: BigInt(no),
      originalAtMs: indexedNow - 60_000,
      deadAtMs: indexedNow + at,
      reason: 'RETRIES_EXHAUSTED',
      exception: `Error${no % 20}`,
      message: `Timeout of carrier-${no % 97} for order o-${no}`,
      frame: 'src/handler.ts',
      group: `group-${no % 20}`,
      eventType: 'order.event1',
      eventId: `e-${no}`,
      key: `o-${no}`,
      attempts: 3,
      replayCount: 0,
      traceId: undefined,
      bytes: 900,
      state: 'OPEN',
      operation: undefined,
    }
  })
}
