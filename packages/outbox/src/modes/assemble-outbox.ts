import {
  ArgumentError,
  createService,
  createUlidGenerator,
  type Database,
  type EventCatalog,
  encodeEvent,
  type InputOf,
  LifecycleError,
  type Runtime,
  type Schemas,
  type Service,
} from '@waybill/core'
import {
  type Deadline,
  type EnvelopeSources,
  type EventMeta,
  type LifecycleFailure,
  latestInstantMs,
  nothingWritten,
} from '@waybill/core/internal'
import { showValue } from '@waybill/core/option'
import type { OutboxHealth } from '../api/outbox-health.ts'
import type { OutboxWatch } from '../health/outbox-watch.ts'
import type { OutboxPart } from '../loops/outbox-part.ts'
import type { PublishedOptions } from '../upkeep/publication-watch.ts'
import { heldWrite } from '../write/held-write.ts'
import { createAmbientWriter, type OutboxWriter, type WriteRows } from '../write/writer.ts'

/** Metadata of one event besides its payload. */
export interface WriteMeta extends EventMeta {
  /** The earliest delivery time, in epoch milliseconds. @defaultValue at once */
  readonly availableAt?: number | undefined
}

/**
 * Delivers events from a transaction to their listeners. An event whose transaction committed is delivered at least
 * once, a rolled back one never. Consumers recognize duplicates by the event id.
 */
export interface Outbox<S extends Schemas, Tx> extends Service {
  /**
   * Writes an event in a transaction: both commit, or neither. It works before start() too: the row waits for the
   * poller. Always `await` it: if the callback of `database.transaction` returns while a write is still pending, the
   * transaction is rolled back with a WorkNotAwaitedError.
   *
   * @param tx the handle that your driver or ORM provides inside a transaction
   * @returns the event's id; null if the writer hook suppressed it
   * @throws NoTransactionError for a handle without a transaction; the errors of `encodeEvent` for the payload.
   */
  write<N extends keyof S & string>(tx: Tx, name: N, payload: InputOf<S, N>, meta?: WriteMeta): Promise<string | null>
  /**
   * Resolves when the event was delivered (its row is DONE), and for null. Rejects with EventDeadError if it is DEAD,
   * EventRolledBackError if it was never committed, and PublishedUnknownError at the deadline, while delivery
   * continues. Rejects at once inside the event's own transaction.
   */
  published(id: string | null, options: PublishedOptions): Promise<void>
  /**
   * Scans the whole table now. Rows below the current scan position, such as replayed events, are otherwise found
   * within half a minute. `createDeadEvents` calls it for the outbox it is given.
   */
  lookNow(): void
  /**
   * Returns the health of this node's outbox at once, without a query: what is wrong, since when, why, and how many
   * events wait. The table is counted every ten seconds. Works in every state.
   */
  health(): OutboxHealth
  /**
   * Whether requests may be sent to this node: the outbox is running and its database answers. An unavailable Kafka
   * does not change it, because events wait in the table.
   */
  ready(): boolean
  /** Writes envelopes in the transaction of the current asynchronous context. */
  readonly writer: OutboxWriter
}

export interface OutboxAssembly<S extends Schemas, Tx> {
  /** The name in errors and logs. */
  readonly name: string
  readonly events: EventCatalog<S>
  readonly database: Database<Tx>
  readonly runtime: Runtime
  readonly writeRows: WriteRows
  readonly published: (id: string | null, options: PublishedOptions) => Promise<void>
  readonly lookNow: () => void
  /** One of the parts. */
  readonly watch: OutboxWatch
  readonly parts: readonly OutboxPart[]
}

/** Assembles the parts of a mode. */
export function assembleOutbox<S extends Schemas, Tx>(assembly: OutboxAssembly<S, Tx>): Outbox<S, Tx> {
  const { name, events, database, runtime, writeRows, published, lookNow, watch, parts } = assembly
  const sources: EnvelopeSources = { clock: runtime.clock, nextId: createUlidGenerator(runtime) }
  let startFailure: unknown
  const service = createService({
    name,
    runtime,
    start: async (signal) => {
      try {
        for (const part of parts) await part.start(signal)
      } catch (error) {
        startFailure = error
        throw error
      }
    },
    stop: (deadline) => stopAll(name, parts, deadline),
    running: () => parts.flatMap(unfinishedIn),
  })
  watch.watch(() => ({ state: service.state, startFailure: service.state === 'FAILED' ? startFailure : undefined }))
  return Object.freeze<Outbox<S, Tx>>({
    get state() {
      return service.state
    },
    start: () => service.start(),
    stop: (options) => service.stop(options),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    published,
    lookNow,
    health: () => watch.health(),
    ready: () => watch.ready(),
    writer: createAmbientWriter(database.ambient, writeRows, sources),
    write: (tx, eventName, payload, given = {}) =>
      heldWrite(() => {
        checkMeta(eventName, given)
        const { availableAt, ...meta } = given
        const context = database.enlist(tx)
        checkInstant(availableAt)
        const work = async () => {
          const event = await encodeEvent(events, eventName, payload, meta, sources)
          const [id] = await writeRows(context, [event], availableAt ?? null)
          return id ?? null
        }
        return { tx: context, eventTypes: () => [eventName], work }
      }),
  })
}

/** Stops all parts, even if one of them fails. */
async function stopAll(name: string, parts: readonly OutboxPart[], deadline: Deadline): Promise<void> {
  const failures: LifecycleFailure[] = []
  const stop = async (part: OutboxPart): Promise<void> => {
    try {
      await part.stop(deadline)
    } catch (error) {
      failures.push({ during: `stop of ${part.name}`, error })
    }
  }
  const aside = parts.filter(({ isAside }) => isAside === true).map(stop)
  for (const part of parts.toReversed()) if (part.isAside !== true) await stop(part)
  await Promise.all(aside)
  if (failures.length > 0) throw new LifecycleError(name, failures)
}

/** Names what a part has not ended. The rows of outcomes that are not written stay in the table. */
function unfinishedIn(part: OutboxPart): readonly string[] {
  const { unsettled = 0 } = part
  return [...(part.running?.() ?? []), ...(unsettled === 0 ? [] : [`the writing of ${unsettled} outcomes`])]
}

function checkMeta(eventName: string, meta: unknown): void {
  if (typeof meta === 'object' && meta !== null) return
  throw new ArgumentError(`The meta of ${eventName} must be an object, got ${showValue(meta)}.`, nothingWritten)
}

function checkInstant(availableAt: number | undefined): void {
  if (availableAt === undefined) return
  // Later times fail the statement in some databases, and in others are stored but cannot be read.
  if (Number.isSafeInteger(availableAt) && availableAt >= 0 && availableAt <= latestInstantMs) return
  throw new ArgumentError(
    `availableAt must be whole epoch milliseconds up to the year 9999, got ${showValue(availableAt)}.`,
    nothingWritten,
  )
}
