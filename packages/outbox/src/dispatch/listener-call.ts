import {
  ArgumentError,
  type EventEnvelope,
  type ListenerContext,
  type ListenerRegistry,
  type OutboxListener,
  type RetryAfter,
  type Runtime,
} from '@waybill/core'
import { showValue } from '@waybill/core/option'
import type { OutboxInterceptor } from '../api/interceptor.ts'
import { UnroutableEventError } from '../api/outbox-errors.ts'
import type { Destinations } from '../destination/destinations.ts'
import { unavailableIn } from '../destination/unavailable.ts'
import {
  errorText,
  type FailureRules,
  outcomeOfFailure,
  outcomeOfRetryAfter,
  outcomeOfUndecided,
} from './decide-row.ts'
import { FailureLog } from './failure-log.ts'
import { type Delivered, done, type Outcome } from './row-outcome.ts'

/** A row to deliver; it doubles as the listener's context. */
export interface DeliverableRow extends ListenerContext {
  readonly event: EventEnvelope
  /** Failed attempts so far. */
  readonly attempts: number
}

/** Delivers one event to its listener and returns the result. Never rejects. */
export type Deliver = (row: DeliverableRow) => Promise<Delivered>

export interface DeliveryDeps extends FailureRules {
  readonly listeners: ListenerRegistry
  readonly interceptors: readonly OutboxInterceptor[]
  readonly destinations: Destinations
  readonly runtime: Pick<Runtime, 'random' | 'clock' | 'logger' | 'failpoint'>
}

/**
 * Creates the delivery of one event: beforeDispatch in order, the listener, afterDispatch in reverse. An interceptor's
 * afterDispatch runs only if its beforeDispatch completed.
 */
export function createDelivery(deps: DeliveryDeps): Deliver {
  const { interceptors, destinations, runtime } = deps
  const line = new FailureLog(runtime)
  const deliver = async (row: DeliverableRow): Promise<Delivered> => {
    const begun = destinations.failures
    let entered = 0
    let outcome: Delivered = done
    let error: unknown = null
    try {
      for (const interceptor of interceptors) {
        await interceptor.beforeDispatch?.(row.event, row)
        entered++
      }
      // Inlined: one more async call per event costs a tenth of the engine's time.
      const listener = listenerOf(row, deps)
      const before = runtime.failpoint('outbox.listener.before')
      if (before !== undefined) await before
      const answer = await listener(row.event, row)
      const after = runtime.failpoint('outbox.listener.after')
      if (after !== undefined) await after
      outcome = outcomeOfAnswer(answer)
      if (!destinations.isClear) succeeded(row.event, outcome, begun)
    } catch (thrown) {
      error = thrown
      outcome = waitAfter(thrown, row) ?? decide(thrown, row)
      // A DEAD outcome is reported by its settlement.
      if (outcome.kind === 'RETRY') line.failed(row.event, row.attempt, outcome.error)
    }
    while (entered > 0) await leave(interceptors[--entered] as OutboxInterceptor, row, error)
    return outcome
  }

  const succeeded = (event: EventEnvelope, outcome: Outcome, begun: number): void => {
    if (outcome.kind === 'DONE') destinations.reached(event, begun)
    else destinations.ended(event)
  }

  /** Returns the wait for a destination; undefined if the failure counts. An aborted delivery says nothing about either. */
  const waitAfter = (thrown: unknown, { event, signal }: DeliverableRow): Delivered | undefined => {
    const unavailable = signal.aborted ? undefined : unavailableIn(thrown)
    if (unavailable === undefined) {
      destinations.ended(event)
      return undefined
    }
    const destination = destinations.failed(event, unavailable, errorText(thrown))
    return destination === undefined ? undefined : { kind: 'WAITS', destination }
  }

  /**
   * Decides the outcome. Policies and thrown values are the application's: whatever they do, the row gets an outcome.
   */
  const decide = (thrown: unknown, row: DeliverableRow): Outcome => {
    try {
      return outcomeOfFailure(thrown, row.attempts, deps, runtime.random)
    } catch (err) {
      const fields = { err, eventId: row.event.eventId }
      runtime.logger.error(fields, 'Retry policy failed, retrying the event')
      return outcomeOfUndecided(thrown)
    }
  }

  const leave = async (interceptor: OutboxInterceptor, row: DeliverableRow, error: unknown): Promise<void> => {
    try {
      await interceptor.afterDispatch?.(row.event, error, row)
    } catch (err) {
      runtime.logger.error({ err, eventId: row.event.eventId }, 'Interceptor afterDispatch failed')
    }
  }

  return deliver
}

function listenerOf({ event }: DeliverableRow, { listeners }: DeliveryDeps): OutboxListener {
  const listener = listeners.listenerFor(event.aggregateType, event.eventType)
  if (listener === null) throw new UnroutableEventError(event.aggregateType, event.eventType)
  return listener
}

/** Returns the outcome of a listener's result. Untyped listeners may return null, which counts as undefined. */
function outcomeOfAnswer(answer: RetryAfter | null | undefined | void): Outcome {
  return (answer ?? undefined) === undefined
    ? done
    : outcomeOfRetryAfter(checkedDelay((answer as RetryAfter).retryAfterMs))
}

function checkedDelay(retryAfterMs: number): number {
  if (Number.isFinite(retryAfterMs) && retryAfterMs >= 0) return retryAfterMs
  throw new ArgumentError(
    `A listener must return nothing, or a retryAfterMs of 0 or more, got ${showValue(retryAfterMs)}.`,
  )
}
