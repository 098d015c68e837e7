/** Our outbox in the setups that are measured. */

import { type ListenerRegistry, type OutboxListener, runtimeWith } from '@waybill/core'
import { createListenerRegistry, Outbox } from '@waybill/outbox'
import { type WhenDone } from '@waybill/outbox/internal'
import { createOutboxStore, type SqlDatabase } from '@waybill/sql'
import { aggregateType, eventsFor, eventType, newEvent } from './bench-events.ts'

/**
 * What differs from the defaults. `batchSize` is 50 by specification, so that a node that dies leaves few rows claimed; who
 * wants throughput sets it as the reference has it. A batch of `keyed`, 500 by default, is divided among 64 shards.
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
  /** Told of rows whose finish the table has confirmed. */
  readonly done?: (events: number) => void
}

const doNothing: OutboxListener = async () => {}

/** An outbox that counts what it has settled. */
export function createEngine<Tx>(setup: EngineSetup<Tx>): Outbox<{ 'order.placed': never }, Tx> {
  const { mode, database, table, whenDone, workerCount, hotQueueCapacity, intervalMs } = setup
  const counter = (name: string, _labels: unknown, count: number): void => {
    if (name === 'outbox.dispatch.success') setup.done?.(count)
    else if (name === 'outbox.finish.fenced') throw new Error('A row was finished by somebody else.')
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

/** Rows of one statement of the writer. */
const rowsAtOnce = 1_000

/** Writes events in one transaction, and says when it was committed: from then on they are in the hot queue. */
export async function writeHot<Tx>(
  outbox: Pick<Outbox<never, Tx>, 'writer'>,
  database: SqlDatabase<Tx>,
  count: number,
  committed: () => void,
): Promise<void> {
  await database.transaction(async () => {
    database.ambient.afterCommit(committed) // The first one registered runs first.
    for (let left = count; left > 0; left -= rowsAtOnce)
      await outbox.writer.writeAll(Array.from({ length: Math.min(left, rowsAtOnce) }, newEvent))
  })
}
