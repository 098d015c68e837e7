import { createListenerRegistry } from '@waybill/outbox'
import { fromPg, migrate } from '@waybill/sql'
import pg from 'pg'
import { aggregateType, eventType } from '../bench-events.ts'
import { createEngine } from '../engine.ts'
import type { NumberedPayload } from './call-counter.ts'
import { type Rival, sessions } from './rival.ts'

/** The outbox with DELETE. Its listener parses the payload, as the drivers of the others do. */
export const waybill: Rival = {
  countLeft: 'SELECT count(*)::int AS left FROM outbox_event',

  async seed(pool, payloads) {
    await migrate(fromPg(pool), { tables: { inbox: false } })
    await pool.query(
      `INSERT INTO outbox_event (event_id, event_type, aggregate_type, aggregate_id, payload, occurred_at, shard)
       SELECT 'E' || lpad(n::text, 25, '0'), $1, $2, data->>'key', data::text::json, 1750000000000 + n, 0
       FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS given(data, n)`,
      [eventType, aggregateType, JSON.stringify(payloads)],
    )
  },

  async start(url, listener) {
    const pool = new pg.Pool({ connectionString: url, max: sessions })
    const listeners = createListenerRegistry().register(aggregateType, eventType, ({ payloadJson }) =>
      listener(JSON.parse(payloadJson) as NumberedPayload),
    )
    await createEngine({ mode: 'multiNode', whenDone: 'DELETE', database: fromPg(pool), listeners }).start()
  },
}
