import type { Database, Runtime } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import { runtimeRule } from '@waybill/core/internal'
import { boolean, hasMethods, instance, integer, list, optional, resolveOptions, text } from '@waybill/core/option'
import type { DeadEvent, DeadFilter, DeadQuery, OutboxStore } from '../api/outbox-store.ts'

/** Options of {@link createDeadEvents}. */
export interface DeadEventsOptions {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'queryDead' | 'countDead' | 'replayDead'>
  /**
   * An outbox of this process, which then delivers replayed events at once.
   * @defaultValue none: the delivering nodes find them within half a minute
   */
  readonly outbox?: { lookNow(): void } | undefined
  /**
   * Whether a database failure is thrown. Otherwise it is logged and the result is empty: suitable for a recurring job,
   * not for a person who would read 0 as none.
   * @defaultValue false
   */
  readonly throwOnError?: boolean | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** The dead events to replay. */
export interface ReplayFilter extends DeadFilter {
  /** Events replayed per statement. @defaultValue 100 */
  readonly batchSize?: number | undefined
}

/** Operations on DEAD rows. */
export interface DeadEvents {
  /** Returns dead events, oldest first. To page, pass the last one's `seq` as `after`. */
  query(query: DeadQuery): Promise<readonly DeadEvent[]>
  /** Resets a DEAD event to NEW, with all its attempts again. @returns whether it was DEAD */
  replay(eventId: string): Promise<boolean>
  /**
   * Replays every matching event that is DEAD now. An event that dies again in the meantime is not replayed again.
   * @returns how many were replayed
   */
  replayAll(filter?: ReplayFilter): Promise<number>
  count(filter?: DeadFilter): Promise<number>
}

const rules = {
  database: instance<DeadEventsOptions['database']>('a database', (value) => hasMethods(value, 'connection')),
  store: instance<DeadEventsOptions['store']>('an outbox store', (value) => hasMethods(value, 'queryDead')),
  outbox: optional(
    instance<NonNullable<DeadEventsOptions['outbox']>>('an outbox', (value) => hasMethods(value, 'lookNow')),
  ),
  throwOnError: boolean({ default: false, because: 'recurring jobs continue through an outage' }),
  runtime: runtimeRule,
}

/** Checked at run time: a misspelled filter would match everything, and a replay cannot be undone. */
const filterRules = {
  eventIds: optional(list(text())),
  eventType: optional(text()),
  aggregateType: optional(text()),
}

const queryRules = {
  ...filterRules,
  limit: integer({ min: 1, max: 10_000 }),
  after: optional(instance<bigint>('the seq of a dead event, a bigint', (value) => typeof value === 'bigint')),
}

const replayRules = {
  ...filterRules,
  batchSize: integer({ default: 100, min: 1, max: 10_000, because: 'short statements hold few rows locked' }),
}

const idRules = { eventId: text() }

/**
 * Creates a {@link DeadEvents}. It needs no running outbox.
 *
 * @throws OptionsError with every violation.
 */
export function createDeadEvents(options: DeadEventsOptions): DeadEvents {
  const { database, store, outbox, throwOnError, runtime } = resolveOptions('Dead events options', rules, options)

  /** Runs every query and change, and logs or throws their failures in one place. */
  async function ask<T>(
    what: string,
    answerOnError: () => T,
    use: (connection: SqlConnection) => Promise<T>,
  ): Promise<T> {
    try {
      return await database.connection(use)
    } catch (error) {
      if (throwOnError) throw error
      runtime.logger.error({ err: error }, `${what} failed`)
      return answerOnError()
    }
  }

  const replayedSome = (count: number): boolean => {
    if (count > 0) outbox?.lookNow()
    return count > 0
  }

  return {
    query: async (given) => {
      const query = resolveOptions('query()', queryRules, given)
      return ask<readonly DeadEvent[]>(
        'Dead event query',
        () => [],
        (connection) => store.queryDead(connection, query),
      )
    },
    replay: async (given) => {
      const { eventId } = resolveOptions('replay()', idRules, { eventId: given })
      return ask(
        'Dead event replay',
        () => false,
        async (connection) => replayedSome(await store.replayDead(connection, [eventId])),
      )
    },
    count: async (given = {}) => {
      const filter = resolveOptions('count()', filterRules, given)
      return ask(
        'Dead event count',
        () => 0,
        (connection) => store.countDead(connection, filter),
      )
    },
    replayAll: async (given = {}) => {
      const { batchSize, ...filter } = resolveOptions('replayAll()', replayRules, given)
      let replayed = 0
      await ask(
        'Dead event replay',
        () => {},
        async (connection) => {
          for await (const count of replayBatches(store, connection, filter, batchSize)) replayed += count
        },
      )
      replayedSome(replayed)
      return replayed
    },
  }
}

/**
 * Replays batches in ascending sequence: a row that dies again keeps its number, and querying the oldest each time
 * would replay it without end. It also ends at a batch in which nothing was DEAD any more, because another process
 * replays the same rows.
 */
async function* replayBatches(
  store: DeadEventsOptions['store'],
  connection: SqlConnection,
  filter: DeadFilter,
  batchSize: number,
): AsyncGenerator<number> {
  let after: bigint | undefined
  for (;;) {
    const batch = await store.queryDead(connection, { ...filter, limit: batchSize, after })
    const last = batch.at(-1)
    if (last === undefined) return
    const replayed = await store.replayDead(
      connection,
      batch.map(({ eventId }) => eventId),
    )
    yield replayed
    if (replayed === 0 || batch.length < batchSize) return
    after = last.seq
  }
}
