/**
 * Deletes rows that have had their time, in small statements, every so often.
 *
 *   waiting ──interval──▶ asking for the purge lease ──not taken: another node purges──▶ waiting
 *                                │ taken
 *                                ▼
 *                         batch after batch until one is not full ──▶ waiting
 *
 * The lease lasts half an interval and is not given back: all nodes together purge once an interval, and when the one
 * that did is gone, another does by the next. Nothing here survives the process, and nothing needs to: what was not
 * purged is purged by the next run.
 */

import { createService, type Database, type Runtime, type Service } from '@waybill/core'
import type { Resolved } from '@waybill/core/option'
import { type OutboxStore, type PurgeRequest, purgeShard } from '../api/outbox-store.ts'
import type { agePurgeRules, purgeRules } from '../options/purge-options.ts'

/** What is purged, of what age; a limit is set for each statement. */
export type PurgeTask =
  | { readonly kind: 'FINISHED'; readonly status: 'DONE' | 'DEAD'; readonly olderThanMs: number }
  | { readonly kind: 'AGE'; readonly olderThanMs: number }

/** What a scheduler needs. */
export interface PurgeSchedulerDeps {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'purge' | 'takeShards'>
  readonly runtime: Runtime
  /** Whose name the purge lease carries. Unique per process. */
  readonly owner: string
  readonly tasks: readonly PurgeTask[]
  readonly batchSize: number
  readonly intervalMs: number
}

/** See the file's comment. */
export interface PurgeScheduler extends Service {
  /** Purges now, lease or not. What fails is logged. @returns how many rows were deleted */
  runOnce(): Promise<number>
}

/** The first run comes within this time: a process that is replaced more often than hourly has to purge as well. */
const firstRunWithinMs = 60_000

/** What the options of a mode that delivers ask to be purged. */
export function finishedTasks({ doneAfterMs, deadAfterMs }: Resolved<typeof purgeRules>): readonly PurgeTask[] {
  const ages = [['DONE', doneAfterMs] as const, ['DEAD', deadAfterMs] as const]
  return ages.flatMap(([status, olderThanMs]) =>
    olderThanMs === false ? [] : [{ kind: 'FINISHED', status, olderThanMs } as const],
  )
}

/** What the options of a mode that only writes ask to be purged. */
export function ageTasks({ afterMs }: Resolved<typeof agePurgeRules>): readonly PurgeTask[] {
  return [{ kind: 'AGE', olderThanMs: afterMs }]
}

/** Makes a {@link PurgeScheduler}. It runs nothing until it is started. */
export function createPurgeScheduler(deps: PurgeSchedulerDeps): PurgeScheduler {
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
    await runtime.timers.sleep(ms, ending.signal).catch(() => {}) // Only the stop ends it early, and the loop looks.
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
    runtime.logger.error({ err }, 'Asking whose turn it is to purge failed')
    return false
  }
}

async function purgeAll(deps: PurgeSchedulerDeps, signal: AbortSignal): Promise<number> {
  let total = 0
  for (const task of deps.tasks) {
    try {
      for await (const deleted of batches(deps, task, signal)) total += deleted
    } catch (err) {
      deps.runtime.logger.error({ err, ...task }, 'Purging failed; the next run tries again')
    }
  }
  deps.runtime.logger.info({ purged: total }, 'Purged the outbox')
  return total
}

/** Each batch on a connection of its own, so that nobody waits for a long run, and no lock outlives a statement. */
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
