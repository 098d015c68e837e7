import { durationMs, integer, orFalse, type Rule } from '@waybill/core/option'

/** How often rows are purged, and how many by one statement. */
export interface PurgeSchedule {
  /**
   * Rows deleted by one statement: it bounds how long rows stay locked.
   * @defaultValue 500
   */
  readonly batchSize?: number | undefined
  /**
   * How long from one run to the next, over all nodes.
   * @defaultValue 3600000
   */
  readonly intervalMs?: number | undefined
}

/** When finished rows leave the table (C-72). */
export interface PurgeOptions extends PurgeSchedule {
  /**
   * How long after it was delivered a row is deleted. False: never.
   * @defaultValue 604800000, 7 days
   */
  readonly doneAfterMs?: number | false | undefined
  /**
   * How long after it died a row is deleted. The specification deletes DEAD rows after 7 days like DONE ones; by default
   * they stay here until somebody decides, since purging one loses its event.
   * @defaultValue false
   */
  readonly deadAfterMs?: number | false | undefined
}

/**
 * When rows leave a table that nobody here delivers from, whatever their status (S1-117). It has to outlast the longest
 * outage of whatever reads the table: a row deleted before that is lost.
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
    because: 'hourly runs delete as much as a day has in small pieces',
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
    because: 'a dead row is the only copy of an event that nobody has received',
  }),
  ...scheduleRules,
}

/** The rules of {@link AgePurgeOptions}. */
export const agePurgeRules: RulesOf<AgePurgeOptions> = {
  afterMs: durationMs({ default: week, min: 1, because: 'longer than what reads the table is ever down' }),
  ...scheduleRules,
}
