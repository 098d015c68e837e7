import {
  DatabaseSetup,
  getDisabledLogger,
  initializePollingMessageListener,
  type TransactionalLogger,
} from 'pg-transactional-outbox'
import type { NumberedPayload } from './call-counter.ts'
import type { Rival } from './rival.ts'

const table = 'peer_outbox'
const nextMessages = 'next_peer_messages'
const setup = {
  outboxOrInbox: 'outbox',
  database: '',
  schema: 'public',
  table,
  listenerRole: 'postgres',
  nextMessagesName: nextMessages,
} as const

const logger: TransactionalLogger = getDisabledLogger()

/**
 * pg-transactional-outbox with its polling listener: batches of 50, both protections off, and its cleanup, which deletes
 * what was processed a second ago.
 */
export const pgTransactionalOutbox: Rival = {
  countLeft: `SELECT count(*)::int AS left FROM ${table}`,

  async seed(pool, payloads) {
    await pool.query(DatabaseSetup.dropAndCreateTable(setup))
    await pool.query(DatabaseSetup.createPollingFunction(setup))
    await pool.query(DatabaseSetup.setupPollingIndexes(setup))
    await pool.query(
      `INSERT INTO ${table} (id, aggregate_type, aggregate_id, message_type, payload)
       SELECT gen_random_uuid(), 'order', data->>'key', 'order.placed', data FROM jsonb_array_elements($1::jsonb) AS data`,
      [JSON.stringify(payloads)],
    )
  },

  async start(url, listener) {
    // Two sessions each for the listener and for the transactions of handlers.
    const connection = { connectionString: url, max: 2 }
    initializePollingMessageListener(
      {
        outboxOrInbox: 'outbox',
        dbListenerConfig: connection,
        dbHandlerConfig: connection,
        settings: {
          dbSchema: 'public',
          dbTable: table,
          nextMessagesFunctionName: nextMessages,
          nextMessagesBatchSize: 50,
          nextMessagesPollingIntervalInMs: 10,
          enableMaxAttemptsProtection: false,
          enablePoisonousMessageProtection: false,
          messageCleanupIntervalInMs: 1_000,
          messageCleanupProcessedInSec: 1,
        },
      },
      { handle: ({ payload }) => listener(payload as NumberedPayload) },
      logger,
    )
  },
}
