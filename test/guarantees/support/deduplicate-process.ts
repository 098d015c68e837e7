/**
 * A connector in a process of its own whose handler inserts a row for each record, marked in the same transaction or
 * beside it. It kills itself at a given failpoint.
 */

import { type Binding, createConnector, defineBinding } from '@waybill/connector'
import type { IdempotencyStore } from '@waybill/core'
import { noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createIdempotencyStore, createInbox, fromPg } from '@waybill/sql'
import pg from 'pg'

/**
 * Where it dies. EFFECT: the row is inserted and not committed. BEFORE_MARK: with a store, the row is committed and has
 * no mark. Others are failpoints of the engine.
 */
export type DeduplicateKill = 'EFFECT' | 'BEFORE_MARK' | 'handler.after' | 'retry.acked' | 'commit.send'

/** The task of the process. */
export interface DeduplicateTask {
  readonly brokers: readonly string[]
  readonly database: string
  readonly marks: 'INBOX' | 'STORE'
  readonly binding: Pick<Binding, 'topic' | 'groupId'>
  /** Kills itself there, once its handler was called that often. */
  readonly killAt?: { readonly point: DeduplicateKill; readonly handled: number }
}

/** Its messages. */
export interface DeduplicateMessage {
  readonly kind: 'RUNNING'
}

const task = JSON.parse(process.argv[2] ?? '') as DeduplicateTask
let handled = 0

function reach(point: string): void | Promise<void> {
  const { killAt } = task
  if (point !== killAt?.point || handled < killAt.handled) return undefined
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

const pool = new pg.Pool({ connectionString: task.database, max: 4 })
const database = fromPg(pool)

/** Inserts the row. One in ten records fails on the source, and succeeds in its tier. */
async function insertEffect(client: Pick<pg.ClientBase, 'query'>, value: string, tier: number): Promise<void> {
  handled++
  await client.query('insert into effect (value) values ($1)', [value])
  await reach('EFFECT')
  if (value.endsWith('7') && tier === 0) throw new Error(`${value} fails on the source`)
}

const kafka = createKafkaClient({ brokers: task.brokers })
const options = {
  ...task.binding,
  parallelism: 'UNORDERED' as const,
  maxInFlight: 4,
  ackMode: 'MANUAL' as const,
  sessionTimeoutMs: 3_000,
  heartbeatIntervalMs: 1_000,
  retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }] },
}
const connector = createConnector({
  clusters: { default: kafka },
  bindings: { work: task.marks === 'INBOX' ? inTransaction() : beside() },
  runtime: runtimeWith({ failpoint: reach, logger: noopLogger }),
})
const asked = new Promise((resolve) => process.once('SIGTERM', resolve))
await connector.start()
const message: DeduplicateMessage = { kind: 'RUNNING' }
process.send?.(message)
await asked
await connector.stop()
await kafka.close()
await pool.end()
process.disconnect()

function inTransaction(): Binding {
  return defineBinding({
    ...options,
    deduplicate: { inbox: createInbox(database) },
    handler: ({ value }, { tx, tier }) => insertEffect(tx, String(value), tier),
  })
}

function beside(): Binding {
  const store = createIdempotencyStore(database)
  const dying: IdempotencyStore = {
    seen: (consumer, key) => store.seen(consumer, key),
    async mark(consumer, key) {
      await reach('BEFORE_MARK')
      await store.mark(consumer, key)
    },
  }
  return {
    ...options,
    deduplicate: { store: dying },
    handler: ({ value }, { tier }) => database.transaction((tx) => insertEffect(tx, String(value), tier)),
  }
}
