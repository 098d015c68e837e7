/** The measured setups of the outbox. */

import { type ListenerRegistry, type OutboxListener, runtimeWith } from '@waybill/core'
import { createListenerRegistry, Outbox } from '@waybill/outbox'
import { type WhenDone } from '@waybill/outbox/internal'
import { createOutboxStore, type SqlDatabase } from '@waybill/sql'
import { aggregateType, eventsFor, eventType, newEvent } from './bench-events.ts'

/**
 * The differences from the defaults. `batchSize` is 50 by specification, so that a dead node leaves few rows claimed; for
 * throughput it is set to that of the reference. A batch of `keyed`, 500 by default, is divided among 64 shards.
 */
const throughputSettings = {
  multiNode: { batchSize: 500, coldQueueCapacity: 2_000 },
  keyed: { batchSize: 2_000 },
} as const

export type Mode = 'multiNode' | 'keyed'

export interface EngineSetup<Tx> {
  readonly mode: Mode
  readonly database: SqlDatabase<Tx>
  readonly table?: string
  readonly whenDone: WhenDone
  readonly listeners?: ListenerRegistry
  readonly workerCount?: number
  readonly hotQueueCapacity?: number
  readonly intervalMs?: number
  /** Called with the number of rows that the table has confirmed as finished. */
  readonly done?: (events: number) => void
}

const doNothing: OutboxListener = async () => {}

/** Creates an outbox that counts settled events. */
export function createEngine<Tx>(setup: EngineSetup<Tx>): Outbox<{ 'order.placed': never }, Tx> {
  const { mode, database, table, whenDone, workerCount, hotQueueCapacity, intervalMs } = setup
  const counter = (name: string, _labels: unknown, count: number): void => {
    if (name === 'outbox.dispatch.success') setup.done?.(count)
    else if (name === 'outbox.finish.fenced') throw new Error('A finish was fenced: another owner holds the row.')
  }
  const shared = {
    events: eventsFor('bench'),
    database,
    store: createOutboxStore(database, { table }),
    listeners: setup.listeners ?? createListenerRegistry().register(aggregateType, eventType, doNothing),
    whenDone,
    workerCount,
    intervalMs,
    purge: false as const,
    runtime: runtimeWith({ metrics: { counter, gauge: () => {}, histogram: () => {} } }),
  }
  const outbox =
    mode === 'keyed'
      ? Outbox.keyed({ ...shared, ...throughputSettings.keyed })
      : Outbox.multiNode({
          ...shared,
          ...throughputSettings.multiNode,
          hotQueueCapacity,
          claimLocking: { timeoutMs: 30_000 },
        })
  return outbox
}

/** Rows per statement of the writer. */
const rowsAtOnce = 1_000

/** Writes events in one transaction. Reports the commit, after which they are in the hot queue. */
export async function writeHot<Tx>(
  outbox: Pick<Outbox<never, Tx>, 'writer'>,
  database: SqlDatabase<Tx>,
  count: number,
  committed: () => void,
): Promise<void> {
  await database.transaction(async () => {
    database.ambient.afterCommit(committed) // Hooks run in the order of registration.
    for (let left = count; left > 0; left -= rowsAtOnce)
      await outbox.writer.writeAll(Array.from({ length: Math.min(left, rowsAtOnce) }, newEvent))
  })
}
