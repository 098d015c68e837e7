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
import { FailureLine } from './attempt-log.ts'
import { type FailureRules, outcomeOfFailure, outcomeOfRetryAfter, outcomeOfUndecided } from './decide-row.ts'
import { done, type Outcome } from './row-outcome.ts'

/** What a delivery needs to know of a row; the row is the listener's context. */
export interface DeliverableRow extends ListenerContext {
  readonly event: EventEnvelope
  /** Failed attempts so far. */
  readonly attempts: number
}

/** Brings one event to its listener and says what becomes of it. It never rejects. */
export type Deliver = (row: DeliverableRow) => Promise<Outcome>

export interface DeliveryDeps extends FailureRules {
  readonly listeners: ListenerRegistry
  readonly interceptors: readonly OutboxInterceptor[]
  readonly runtime: Pick<Runtime, 'random' | 'clock' | 'logger' | 'failpoint'>
}

/**
 * One event's way: beforeDispatch in order, the listener, afterDispatch in reverse, then the outcome (S1-068). An
 * interceptor is left only if it was entered (S1-075).
 */
export function createDelivery(deps: DeliveryDeps): Deliver {
  const { interceptors, runtime } = deps
  const line = new FailureLine(runtime)
  const deliver = async (row: DeliverableRow): Promise<Outcome> => {
    let entered = 0
    let outcome = done
    let error: unknown = null
    try {
      for (const interceptor of interceptors) {
        await interceptor.beforeDispatch?.(row.event, row)
        entered++
      }
      // Not a function of its own: an async call more for each event is a tenth of what the engine costs.
      const listener = listenerOf(row, deps)
      const before = runtime.failpoint('outbox.listener.before')
      if (before !== undefined) await before
      const answer = await listener(row.event, row)
      const after = runtime.failpoint('outbox.listener.after')
      if (after !== undefined) await after
      outcome = outcomeOfAnswer(answer)
    } catch (thrown) {
      error = thrown
      outcome = decide(thrown, row)
      // Of one that is DEAD its settlement tells.
      if (outcome.kind === 'RETRY') line.failed(row.event, row.attempt, outcome.error)
    }
    while (entered > 0) await leave(interceptors[--entered] as OutboxInterceptor, row, error)
    return outcome
  }

  /** Policies and thrown values are the application's: whatever they do when looked at, the row gets an outcome. */
  const decide = (thrown: unknown, row: DeliverableRow): Outcome => {
    try {
      return outcomeOfFailure(thrown, row.attempts, deps, runtime.random)
    } catch (err) {
      const fields = { err, eventId: row.event.eventId }
      runtime.logger.error(fields, 'Deciding about a failed delivery failed; the event is tried again')
      return outcomeOfUndecided(thrown)
    }
  }

  const leave = async (interceptor: OutboxInterceptor, row: DeliverableRow, error: unknown): Promise<void> => {
    try {
      await interceptor.afterDispatch?.(row.event, error, row)
    } catch (err) {
      runtime.logger.error({ err, eventId: row.event.eventId }, 'An afterDispatch interceptor failed; nothing changes')
    }
  }

  return deliver
}

function listenerOf({ event }: DeliverableRow, { listeners }: DeliveryDeps): OutboxListener {
  const listener = listeners.listenerFor(event.aggregateType, event.eventType)
  if (listener === null) throw new UnroutableEventError(event.aggregateType, event.eventType)
  return listener
}

/** Without types a listener may answer null, and means nothing by it. */
function outcomeOfAnswer(answer: RetryAfter | null | undefined | void): Outcome {
  return (answer ?? undefined) === undefined
    ? done
    : outcomeOfRetryAfter(checkedDelay((answer as RetryAfter).retryAfterMs))
}

function checkedDelay(retryAfterMs: number): number {
  if (Number.isFinite(retryAfterMs) && retryAfterMs >= 0) return retryAfterMs
  throw new ArgumentError(`A listener answers nothing, or retryAfterMs of 0 or more, not ${showValue(retryAfterMs)}.`)
}
