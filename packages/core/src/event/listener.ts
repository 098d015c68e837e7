import type { EventEnvelope } from './envelope.ts'

/** The context of one delivery to a listener. */
export interface ListenerContext {
  /** Aborted when the row may belong to another node by now, and when the outbox must end. */
  readonly signal: AbortSignal
  /** 1 for the first attempt. */
  readonly attempt: number
}

/**
 * A listener's request to deliver the event later. The delivery counts as one attempt, and attempts never run out by it.
 * `Outbox.ordered` holds later events back meanwhile.
 */
export interface RetryAfter {
  readonly retryAfterMs: number
}

/**
 * Carries an event on. Resolved: it arrived, and the row is DONE. Rejected: it is tried again later, or DEAD when its
 * attempts are used up; an UnavailableError spends none. Called at least once per event: what it does must bear a repeat, recognised by the event's id.
 */
export type OutboxListener = (event: EventEnvelope, context: ListenerContext) => Promise<void | RetryAfter>

/** Listeners by event: exactly one for each pair of event type and aggregate type. */
export interface ListenerRegistry {
  /** Null when no listener is registered; see `unroutable`. */
  listenerFor(aggregateType: string, eventType: string): OutboxListener | null
  /**
   * Called before an event is written: throws for one that no listener could ever carry on, since it would enter the table
   * only to die there. The caller's write rejects with what it throws, and nothing is written.
   */
  checkWrite?(event: EventEnvelope): void
  /**
   * Returns the destinations of an event, from the widest to the narrowest: for Kafka the cluster, the topic and the
   * partition. While one of them is unavailable, its events wait and the others continue. Called only while something is
   * unavailable, and must not throw. @defaultValue the event type alone
   */
  destinationsOf?(event: EventEnvelope): readonly string[]
}
