import { boolean, durationMs, integer, orFalse, type Rule } from '@waybill/core/option'

/** The interval of purges, and the size of one statement. */
export interface PurgeSchedule {
  /**
   * Rows deleted by one statement. Bounds how long rows stay locked.
   * @defaultValue 500
   */
  readonly batchSize?: number | undefined
  /**
   * The time from one run to the next, across all nodes.
   * @defaultValue 3600000
   */
  readonly intervalMs?: number | undefined
}

/** The retention of settled rows. */
export interface PurgeOptions extends PurgeSchedule {
  /**
   * How long after its delivery a row is deleted. False: never.
   * @defaultValue 604800000, 7 days
   */
  readonly doneAfterMs?: number | false | undefined
  /**
   * How long after its last failure a DEAD row is deleted. By default DEAD rows stay until you decide, because purging
   * one loses its event.
   * @defaultValue false
   */
  readonly deadAfterMs?: number | false | undefined
  /**
   * Moves these rows to the history table instead of deleting them. Deleting from the history is up to you.
   * @defaultValue false
   */
  readonly archive?: boolean | undefined
}

/**
 * The retention of rows in a table that another reader delivers from, whatever their status. It must outlast the
 * longest outage of that reader: a row deleted before it was read is lost.
 */
export interface AgePurgeOptions extends PurgeSchedule {
  /**
   * How long after it was written a row is deleted.
   * @defaultValue 604800000, 7 days
   */
  readonly afterMs?: number | undefined
}

const week = 7 * 24 * 3_600_000

type RulesOf<T> = { readonly [K in keyof T]-?: Rule<Exclude<T[K], undefined>> }

const scheduleRules: RulesOf<PurgeSchedule> = {
  batchSize: integer({
    default: 500,
    min: 1,
    max: 100_000,
    because: 'a statement of this size holds locks for milliseconds',
  }),
  intervalMs: durationMs({
    default: 3_600_000,
    min: 1,
    because: 'hourly runs spread the deletions of a day',
  }),
}

/** The rules of {@link PurgeOptions}. */
export const purgeRules: RulesOf<PurgeOptions> = {
  doneAfterMs: orFalse(durationMs({ min: 0 }), {
    default: week,
    because: 'a week of rows shows what was sent, and when',
  }),
  deadAfterMs: orFalse(durationMs({ min: 0 }), {
    default: false,
    because: 'a dead row is the only copy of an undelivered event',
  }),
  archive: boolean({ default: false, because: 'a history that grows without end is a decision' }),
  ...scheduleRules,
}

/** The rules of {@link AgePurgeOptions}. */
export const agePurgeRules: RulesOf<AgePurgeOptions> = {
  afterMs: durationMs({ default: week, min: 1, because: 'longer than an outage of the reader of the table' }),
  ...scheduleRules,
}
