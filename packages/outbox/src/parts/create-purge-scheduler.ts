import type { Database, Runtime } from '@waybill/core'
import { durationMs, hasMethods, instance, optional, type Report, resolveOptions } from '@waybill/core/option'
import type { OutboxStore } from '../api/outbox-store.ts'
import { uniqueOwner } from '../claim/lease-versions.ts'
import { poolRules } from '../options/outbox-rules.ts'
import { type PurgeOptions, purgeRules } from '../options/purge-options.ts'
import { ageTasks, finishedTasks, type PurgeScheduler, purgeSchedulerOf } from '../upkeep/purge-scheduler.ts'

/** Options of {@link createPurgeScheduler}. */
export interface PurgeSchedulerOptions extends PurgeOptions {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: OutboxStore
  /**
   * Deletes rows by their age instead, whatever their status, for a table that another reader delivers from. Excludes
   * `doneAfterMs`, `deadAfterMs` and `archive`. @defaultValue none
   */
  readonly afterMs?: number | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

const rules = {
  ...purgeRules,
  database: instance<Pick<Database<never>, 'connection'>>('a database', (value) => hasMethods(value, 'connection')),
  store: poolRules.store,
  afterMs: optional(durationMs({ min: 1 })),
  runtime: poolRules.runtime,
}

/** Creates a scheduler that deletes rows past their retention. It runs nothing until `start()` or `runOnce()`. */
export function createPurgeScheduler(options: PurgeSchedulerOptions): PurgeScheduler {
  const check = ({ afterMs }: { readonly afterMs: unknown }, report: Report): void => {
    if (afterMs !== undefined && (options.doneAfterMs ?? options.deadAfterMs ?? options.archive) !== undefined)
      report('afterMs', 'cannot be combined with doneAfterMs, deadAfterMs or archive: it deletes rows of any status')
  }
  const { afterMs, ...resolved } = resolveOptions('createPurgeScheduler', rules, options, check)
  const tasks = afterMs === undefined ? finishedTasks(resolved) : ageTasks({ ...resolved, afterMs })
  return purgeSchedulerOf({ ...resolved, owner: uniqueOwner('purge', resolved.runtime), tasks })
}
