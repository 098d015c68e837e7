import type { AdministrationOptions, Database, OperatorIdentity, Runtime } from '@waybill/core'
import { describeThrown } from '@waybill/core'
import {
  type AuditedOperation,
  AuditedOperations,
  administrationRule,
  runtimeRule,
  type SqlConnection,
} from '@waybill/core/internal'
import { boolean, hasMethods, instance, integer, list, optional, resolveOptions, text } from '@waybill/core/option'
import type { BlockingEvent, DeadEvent, DeadFilter, DeadQuery, OutboxEvent, OutboxStore } from '../api/outbox-store.ts'

/** Options of {@link createDeadEvents}. */
export interface DeadEventsOptions {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'queryDead' | 'countDead' | 'replayDead' | 'deleteDead' | 'find' | 'blockers'>
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
  /**
   * Permissions and audit log of operators.
   * @defaultValue only the program itself, `applicationOperator()`; lines on standard error, whatever the log level
   */
  readonly administration?: AdministrationOptions<DeadEventOperation> | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/**
 * An operation that an operator requests. Replays and reads of events are in the audit log; a count is there only
 * if it was refused.
 */
export type DeadEventOperation =
  | 'REPLAY_DEAD_EVENTS'
  | 'PURGE_DEAD_EVENTS'
  | 'READ_DEAD_EVENTS'
  | 'READ_EVENT'
  | 'READ_BLOCKERS'
  | 'COUNT_DEAD_EVENTS'

/** The dead events to replay. */
export interface ReplayFilter extends DeadFilter {
  /** Events replayed per statement. @defaultValue 100 */
  readonly batchSize?: number | undefined
}

/**
 * Operations on DEAD rows. Each rejects with OperationForbiddenError if the operator lacks the permission, and with
 * AuditUnwritableError if its request cannot be written to the audit log.
 */
export interface DeadEvents {
  /** Returns dead events, oldest first. To page, pass the last one's `seq` as `after`. */
  query(query: DeadQuery, operator: OperatorIdentity): Promise<readonly DeadEvent[]>
  /** Resets a DEAD event to NEW, with all its attempts again. @returns whether it was DEAD */
  replay(eventId: string, operator: OperatorIdentity): Promise<boolean>
  /**
   * Replays every matching event that is DEAD now. An event that dies again in the meantime is not replayed again.
   * @returns how many were replayed
   */
  replayAll(filter: ReplayFilter, operator: OperatorIdentity): Promise<number>
  /**
   * Deletes DEAD events: each is the only copy of its event, and keys that it blocks continue.
   * @returns how many were DEAD
   */
  purge(filter: { readonly eventIds: readonly string[] }, operator: OperatorIdentity): Promise<number>
  /** Returns the row of an event, whatever its status; undefined if there is none. */
  find(eventId: string, operator: OperatorIdentity): Promise<OutboxEvent | undefined>
  /** Returns failed events that have later events of their key behind them, oldest first. */
  blockers(query: { readonly limit: number }, operator: OperatorIdentity): Promise<readonly BlockingEvent[]>
  /** Counts the matching events that are DEAD. */
  count(filter: DeadFilter, operator: OperatorIdentity): Promise<number>
}

const rules = {
  database: instance<DeadEventsOptions['database']>('a database', (value) => hasMethods(value, 'connection')),
  store: instance<DeadEventsOptions['store']>('an outbox store', (value) => hasMethods(value, 'queryDead')),
  outbox: optional(
    instance<NonNullable<DeadEventsOptions['outbox']>>('an outbox', (value) => hasMethods(value, 'lookNow')),
  ),
  throwOnError: boolean({ default: false, because: 'recurring jobs continue through an outage' }),
  administration: administrationRule,
  runtime: runtimeRule,
}

/** Checked at run time: a misspelled filter would match everything, and a replay cannot be undone. */
const filterRules = {
  eventIds: optional(list(text())),
  eventType: optional(text()),
  aggregateType: optional(text()),
  diedUntil: optional(instance<number>('epoch milliseconds', (value) => Number.isSafeInteger(value))),
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
const purgeRules = { eventIds: list(text()) }
const blockerRules = { limit: integer({ min: 1, max: 1_000 }) }

/** Rows counted behind each blocking event. */
const maxBehind = 1_000

/**
 * Creates a {@link DeadEvents}. It needs no running outbox.
 *
 * @throws OptionsError with every violation.
 */
export function createDeadEvents(options: DeadEventsOptions): DeadEvents {
  const { database, store, outbox, throwOnError, administration, runtime } = resolveOptions(
    'Dead events options',
    rules,
    options,
  )
  // A row belongs to all nodes.
  const audited = new AuditedOperations<DeadEventOperation>(runtime, 'FLEET', administration)

  /**
   * Runs a query or change. With `throwOnError` a failure of the database is thrown, otherwise it is logged; a missing
   * permission and a failure of the audit log are always thrown.
   */
  async function use<T>(
    what: string,
    answerOnError: () => T,
    run: (work: (use: (connection: SqlConnection) => Promise<T>) => Promise<T>) => Promise<T>,
  ): Promise<T> {
    let failure: { readonly error: unknown } | undefined
    const work = async (query: (connection: SqlConnection) => Promise<T>): Promise<T> => {
      try {
        return await database.connection(query)
      } catch (error) {
        failure = { error }
        throw error
      }
    }
    try {
      return await run(work)
    } catch (error) {
      if (throwOnError || failure?.error !== error) throw error
      runtime.logger.error({ err: error }, `${what} failed`)
      return answerOnError()
    }
  }

  const lookIfAny = (count: number): void => {
    if (count > 0) outbox?.lookNow()
  }

  return {
    query: async (given, operator) => {
      const query = resolveOptions('query()', queryRules, given)
      return use<readonly DeadEvent[]>(
        'Dead event query',
        () => [],
        (work) =>
          audited.run(
            asked('READ_DEAD_EVENTS', query, operator),
            () => work((connection) => store.queryDead(connection, query)),
            (events) => ({ read: events.length }),
          ),
      )
    },
    replay: async (given, operator) => {
      const { eventId } = resolveOptions('replay()', idRules, { eventId: given })
      const replayed = await use(
        'Dead event replay',
        () => 0,
        (work) =>
          audited.run(
            asked('REPLAY_DEAD_EVENTS', { eventIds: [eventId] }, operator),
            () => work((connection) => store.replayDead(connection, [eventId])),
            (count) => ({ replayed: count }),
          ),
      )
      lookIfAny(replayed)
      return replayed > 0
    },
    purge: async (given, operator) => {
      const { eventIds } = resolveOptions('purge()', purgeRules, given)
      return use(
        'Dead event purge',
        () => 0,
        (work) =>
          audited.run(
            asked('PURGE_DEAD_EVENTS', { eventIds }, operator),
            () => work((connection) => store.deleteDead(connection, eventIds)),
            (count) => ({ purged: count }),
          ),
      )
    },
    find: async (given, operator) => {
      const { eventId } = resolveOptions('find()', idRules, { eventId: given })
      return use<OutboxEvent | undefined>(
        'Event read',
        () => undefined,
        (work) =>
          audited.run(
            asked('READ_EVENT', { eventId }, operator),
            () => work((connection) => store.find(connection, eventId)),
            (event) => ({ read: event === undefined ? 0 : 1 }),
          ),
      )
    },
    blockers: async (given, operator) => {
      const { limit } = resolveOptions('blockers()', blockerRules, given)
      return use<readonly BlockingEvent[]>(
        'Blocker query',
        () => [],
        (work) =>
          audited.run(
            asked('READ_BLOCKERS', { limit }, operator),
            () => work((connection) => store.blockers(connection, { limit, countUpTo: maxBehind })),
            (events) => ({ read: events.length }),
          ),
      )
    },
    count: async (given, operator) => {
      const filter = resolveOptions('count()', filterRules, given)
      await audited.permit(asked('COUNT_DEAD_EVENTS', filter, operator))
      return use(
        'Dead event count',
        () => 0,
        (work) => work((connection) => store.countDead(connection, filter)),
      )
    },
    replayAll: async (given, operator) => {
      const request = resolveOptions('replayAll()', replayRules, given)
      const { batchSize, ...filter } = request
      let replayed = 0
      const replayMatching = async (connection: SqlConnection): Promise<number> => {
        for await (const count of replayBatches(store, connection, filter, batchSize)) replayed += count
        return replayed
      }
      await use(
        'Dead event replay',
        () => replayed,
        (work) =>
          audited.run(
            asked('REPLAY_DEAD_EVENTS', request, operator),
            () => work(replayMatching),
            () => ({ replayed }),
            (error) => ({ replayed, error: describeThrown(error) }),
          ),
      )
      lookIfAny(replayed)
      return replayed
    },
  }
}

function asked(
  operation: DeadEventOperation,
  request: object,
  operator: OperatorIdentity,
): AuditedOperation<DeadEventOperation> {
  return { operation, target: 'outbox', request, operator }
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
