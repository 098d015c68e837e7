/**
 * Deletes or archives rows past their retention, in small statements, at an interval.
 *
 *   waiting ──interval──▶ requesting the purge lease ──not taken: another node purges──▶ waiting
 *                                │ taken
 *                                ▼
 *                         batch after batch until one is not full ──▶ waiting
 *
 * The lease lasts half an interval and is not released, so all nodes together purge once per interval, and another node
 * takes over when the holder is gone. Nothing here needs to survive the process: the next run purges the rest.
 */

import { createService, type Database, type Runtime, type Service } from '@waybill/core'
import type { Resolved } from '@waybill/core/option'
import { type OutboxStore, type PurgeRequest, purgeShard } from '../api/outbox-store.ts'
import type { agePurgeRules, purgeRules } from '../options/purge-options.ts'

/** The rows to purge, and their age; each statement adds its limit. */
export type PurgeTask =
  | {
      readonly kind: 'FINISHED'
      readonly status: 'DONE' | 'DEAD'
      readonly olderThanMs: number
      readonly archive: boolean
    }
  | { readonly kind: 'AGE'; readonly olderThanMs: number }

/** The dependencies of a scheduler. */
export interface PurgeSchedulerDeps {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'purge' | 'takeShards'>
  readonly runtime: Runtime
  /** The owner of the purge lease. Unique per process. */
  readonly owner: string
  readonly tasks: readonly PurgeTask[]
  readonly batchSize: number
  readonly intervalMs: number
}

/** See the file's comment. */
export interface PurgeScheduler extends Service {
  /** Purges now, with or without the lease. Failures are logged. @returns how many rows were removed */
  runOnce(): Promise<number>
}

/** The first run comes within this time, so that a process replaced more often than hourly purges too. */
const firstRunWithinMs = 60_000

/** Returns the purge tasks of a mode that delivers. */
export function finishedTasks({
  doneAfterMs,
  deadAfterMs,
  archive,
}: Resolved<typeof purgeRules>): readonly PurgeTask[] {
  const ages = [['DONE', doneAfterMs] as const, ['DEAD', deadAfterMs] as const]
  return ages.flatMap(([status, olderThanMs]) =>
    olderThanMs === false ? [] : [{ kind: 'FINISHED', status, olderThanMs, archive } as const],
  )
}

/** Returns the purge tasks of a mode that only writes. */
export function ageTasks({ afterMs }: Resolved<typeof agePurgeRules>): readonly PurgeTask[] {
  return [{ kind: 'AGE', olderThanMs: afterMs }]
}

/** Creates a {@link PurgeScheduler}. It runs nothing until it is started. */
export function purgeSchedulerOf(deps: PurgeSchedulerDeps): PurgeScheduler {
  const { runtime, intervalMs } = deps
  const ending = new AbortController()
  let loop: Promise<void> = Promise.resolve()

  async function run(): Promise<void> {
    await sleepUntilAborted(Math.min(intervalMs, firstRunWithinMs) * runtime.random())
    while (!ending.signal.aborted) {
      if (await isMyTurn(deps)) await purgeAll(deps, ending.signal)
      await sleepUntilAborted(intervalMs)
    }
  }

  async function sleepUntilAborted(ms: number): Promise<void> {
    await runtime.timers.sleep(ms, ending.signal).catch(() => {}) // Only stop() ends it early, and the loop checks.
  }

  const service = createService({
    name: 'outbox purge',
    runtime,
    start: () => {
      loop = run()
    },
    stop: async () => {
      ending.abort()
      await loop
    },
  })
  return Object.assign(service, { runOnce: () => purgeAll(deps, ending.signal) })
}

async function isMyTurn({ database, store, owner, intervalMs, runtime }: PurgeSchedulerDeps): Promise<boolean> {
  const leaseMs = Math.max(1, Math.floor(intervalMs / 2))
  try {
    const taken = await database.connection((connection) => store.takeShards(connection, owner, [purgeShard], leaseMs))
    return taken.length > 0
  } catch (err) {
    runtime.logger.error({ err }, 'Purge lease query failed')
    return false
  }
}

async function purgeAll(deps: PurgeSchedulerDeps, signal: AbortSignal): Promise<number> {
  let total = 0
  for (const task of deps.tasks) {
    try {
      for await (const deleted of batches(deps, task, signal)) total += deleted
    } catch (err) {
      deps.runtime.logger.error({ err, ...task }, 'Purge failed, retrying in the next run')
    }
  }
  deps.runtime.logger.info({ purged: total }, 'Outbox purged')
  return total
}

/** Yields the deleted rows per batch. Each batch uses its own connection, so that no lock outlives a statement. */
async function* batches(
  { database, store, batchSize }: PurgeSchedulerDeps,
  task: PurgeTask,
  signal: AbortSignal,
): AsyncGenerator<number> {
  const purge: PurgeRequest = { ...task, limit: batchSize }
  let deleted = batchSize
  while (deleted >= batchSize && !signal.aborted) {
    deleted = await database.connection((connection) => store.purge(connection, purge))
    yield deleted
  }
}
