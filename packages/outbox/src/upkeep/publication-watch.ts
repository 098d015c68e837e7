/**
 * Notifies callers when their events are delivered. Events settled by this process are reported at once; for the rest
 * it queries the table, all waiting ids in one statement, at growing intervals.
 *
 *   published(id) ── known here: DONE, rolled back, still in its transaction ──▶ returns at once
 *        └─ otherwise waits ── DONE here ────────────────────────────────▶ resolves
 *                           ├─ DEAD here: the table is queried now, it has
 *                           │  the reason
 *                           ├─ the table says DONE or DEAD ──────────────▶ resolves or rejects
 *                           ├─ row gone, with done rows deleted, and it
 *                           │  existed: seen, or its commit was observed
 *                           │  and no savepoint may have undone it ──────▶ resolves
 *                           └─ deadline, or the outbox stops ────────────▶ PublishedUnknownError
 */

import { type Database, type EventEnvelope, type Runtime, StateError } from '@waybill/core'
import { type UncommittedEnd } from '@waybill/core/internal'
import { durationMs, resolveOptions } from '@waybill/core/option'
import { EventDeadError, EventRolledBackError, PublishedUnknownError } from '../api/outbox-errors.ts'
import type { OutboxStore, RowStatus, WhenDone } from '../api/outbox-store.ts'
import { checkEventId } from '../api/row-limits.ts'
import type { UnavailableDestination } from '../destination/destinations.ts'
import { Pause } from '../loops/pause.ts'
import { EventMemory } from './event-memory.ts'

/** Options of `published()`. */
export interface PublishedOptions {
  /** The maximum wait. */
  readonly deadlineMs: number
}

export interface PublicationWatchDeps {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'statusOf' | 'queryDead'>
  readonly whenDone: WhenDone
  readonly runtime: Runtime
  /** Returns the unavailable destination that an event waits for, as far as this node knows. */
  readonly waitOf?: ((eventId: string) => UnavailableDestination | undefined) | undefined
}

interface Waiter {
  readonly id: string
  readonly deadlineAt: number
  /** Rejects the caller even if the last query gets no response. */
  readonly overdue: Disposable
  /** Whether the row is known to have existed: a query found it, or its commit was observed. */
  wasThere: boolean
  resolve(): void
  reject(error: Error): void
}

const rules = { deadlineMs: durationMs({ min: 0 }) }

/** The limit of waiting callers. Beyond it events are not being delivered, and more callers must not pile up. */
const maxWaiters = 10_000
/** The number of commits remembered: callers mostly ask right after their own. */
const rememberedEvents = 10_000
const idsPerQuery = 500
/** The hot path has usually settled an event before the first query. */
const firstQueryMs = 25
const longestQueryMs = 1_000
/** The last query begins at the deadline. A longer one may never end: drivers have no default timeout. */
const lastQueryMs = 250

export class PublicationWatch {
  readonly #deps: PublicationWatchDeps
  readonly #memory = new EventMemory(rememberedEvents)
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #pause: Pause
  #count = 0
  #isQuerying = false
  #querying: Promise<void> = Promise.resolve()
  #isStarted = false
  #isStopped = false
  #queryMs = firstQueryMs

  constructor(deps: PublicationWatchDeps) {
    this.#deps = deps
    this.#pause = new Pause(deps.runtime, true)
  }

  opened(events: readonly EventEnvelope[]): void {
    this.#memory.opened(events)
  }

  /**
   * @param events the same array that was opened
   * @param isBound false if a savepoint may have undone them, so that a missing row proves nothing
   */
  committed(events: readonly EventEnvelope[], isBound: boolean): void {
    this.#memory.ended(events, isBound ? 'COMMITTED' : 'UNSURE')
    if (this.#count === 0 || !isBound) return
    for (const { eventId } of events) for (const waiter of this.#waiters.get(eventId) ?? []) waiter.wasThere = true
  }

  /** @param events the same array that was opened */
  notCommitted(events: readonly EventEnvelope[], end: UncommittedEnd): void {
    if (end === 'UNKNOWN') this.#memory.forget(events)
    else this.#memory.ended(events, 'ROLLED_BACK')
  }

  /** Records a row settled by this process. */
  finished(eventId: string, state: 'DONE' | 'DEAD'): void {
    this.#memory.finished(eventId, state)
    if (!this.#waiters.has(eventId)) return
    if (state === 'DONE') this.#answer(eventId)
    else this.#pause.shorten(0)
  }

  async published(id: string | null, options: PublishedOptions): Promise<void> {
    const { deadlineMs } = resolveOptions('published()', rules, options)
    if (id === null) return
    checkEventId(id)
    const state = this.#memory.stateOf(id)
    if (state === 'DONE') return
    if (state === 'ROLLED_BACK') throw new EventRolledBackError(id)
    if (state === 'OPEN')
      throw new StateError(`published() was called for ${id} inside the transaction that writes it.`, {
        impact: 'The transaction continues; nothing is published before it commits.',
        hint: 'Call published() after the transaction has committed.',
      })
    if (this.#isStopped) throw new PublishedUnknownError(id, 'the outbox has stopped')
    if (this.#count >= maxWaiters) throw new PublishedUnknownError(id, `${maxWaiters} callers are already waiting`)
    // A dead row may have been replayed since and delivered by another node, so query the table.
    await this.#wait(id, deadlineMs, state === 'COMMITTED' || state === 'DEAD')
  }

  /** Records that this node delivers. Before that, an event is delivered only if another node runs. */
  start(): void {
    this.#isStarted = true
  }

  /** Rejects all waiting callers. Resolves when no query is in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const waiter of this.#all()) this.#end(waiter, new PublishedUnknownError(waiter.id, 'the outbox was stopped'))
    this.#pause.end()
    await this.#querying
  }

  async #wait(id: string, deadlineMs: number, wasThere: boolean): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const { clock, timers } = this.#deps.runtime
      const deadlineAt = clock.monotonic() + deadlineMs
      const overdue = timers.schedule(deadlineMs + lastQueryMs, () =>
        this.#end(waiter, new PublishedUnknownError(id, 'the deadline has passed, and the database does not respond')),
      )
      const waiter: Waiter = { id, deadlineAt, overdue, wasThere, resolve, reject }
      this.#waiters.set(id, (this.#waiters.get(id) ?? new Set()).add(waiter))
      this.#count++
      // A row that is deleted before it was seen leaves no trace.
      this.#queryMs = wasThere || this.#deps.whenDone === 'KEEP' ? firstQueryMs : 0
      if (this.#isQuerying) this.#pause.shorten(Math.min(this.#queryMs, deadlineMs))
      else this.#querying = this.#queryWhileWaiting()
    })
  }

  async #queryWhileWaiting(): Promise<void> {
    const { clock } = this.#deps.runtime
    this.#isQuerying = true
    while (this.#count > 0) {
      const nearest = this.#all().reduce((at, { deadlineAt }) => Math.min(at, deadlineAt), Number.POSITIVE_INFINITY)
      await this.#pause.wait(Math.max(0, Math.min(this.#queryMs, nearest - clock.monotonic())))
      this.#queryMs = Math.max(firstQueryMs, Math.min(longestQueryMs, this.#queryMs * 2))
      await this.#queryStatuses()
      this.#expire(clock.monotonic())
    }
    this.#isQuerying = false
  }

  async #queryStatuses(): Promise<void> {
    const { database, store, runtime } = this.#deps
    const ids = [...this.#waiters.keys()]
    for (let at = 0; at < ids.length; at += idsPerQuery) {
      const asked = ids.slice(at, at + idsPerQuery)
      try {
        const statuses = await database.connection((connection) => store.statusOf(connection, asked))
        await this.#learnOfDead(asked.filter((id) => statuses.get(id) === 'DEAD'))
        for (const id of asked) this.#learn(id, statuses.get(id))
      } catch (err) {
        runtime.logger.warn({ err }, 'Event status query failed, retrying')
        return
      }
    }
  }

  /** Rejects the callers of dead events. An event replayed in the meantime is queried again. */
  async #learnOfDead(eventIds: readonly string[]): Promise<void> {
    if (eventIds.length === 0) return
    const { database, store } = this.#deps
    const dead = await database.connection((connection) =>
      store.queryDead(connection, { eventIds, limit: eventIds.length }),
    )
    for (const { eventId, lastError } of dead) this.#answer(eventId, new EventDeadError(eventId, lastError))
  }

  #learn(id: string, status: RowStatus | undefined): void {
    if (status === 'DONE') this.#answer(id)
    for (const waiter of this.#waiters.get(id) ?? [])
      if (status !== undefined) waiter.wasThere = true
      // With done rows deleted, a row disappears only by delivery: dead rows stay.
      else if (waiter.wasThere && this.#deps.whenDone === 'DELETE') this.#end(waiter)
  }

  #answer(id: string, error?: EventDeadError): void {
    for (const waiter of this.#waiters.get(id) ?? []) this.#end(waiter, error)
  }

  #expire(now: number): void {
    const why = `the deadline has passed${this.#isStarted ? '' : ', and this outbox is CREATED: start() it first'}`
    for (const waiter of this.#all())
      if (waiter.deadlineAt <= now) this.#end(waiter, new PublishedUnknownError(waiter.id, why + this.#waitOf(waiter)))
  }

  #waitOf({ id }: Waiter): string {
    const wait = this.#deps.waitOf?.(id)
    if (wait === undefined) return ''
    const { destination, since, reason } = wait
    const text = reason.replace(/[.\s]+$/, '')
    return `. It waits for ${destination}, unavailable since ${new Date(since).toISOString()}: ${text}`
  }

  #end(waiter: Waiter, error?: Error): void {
    const waiters = this.#waiters.get(waiter.id)
    if (waiters?.delete(waiter) !== true) return
    if (waiters.size === 0) this.#waiters.delete(waiter.id)
    this.#count--
    waiter.overdue[Symbol.dispose]()
    if (error === undefined) waiter.resolve()
    else waiter.reject(error)
  }

  #all(): Waiter[] {
    return [...this.#waiters.values()].flatMap((waiters) => [...waiters])
  }
}
