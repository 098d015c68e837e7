import { WaybillError } from '@waybill/core'

/** No listener is registered for the event's aggregate type and event type. */
export class UnroutableEventError extends WaybillError {
  static override readonly code = 'WAYBILL_EVENT_UNROUTABLE'
  readonly aggregateType: string
  readonly eventType: string

  constructor(aggregateType: string, eventType: string) {
    super(`No listener is registered for ${aggregateType}:${eventType}.`, {
      impact: 'The row stays in the outbox.',
      hint:
        'Register a listener for exactly this aggregate type and event type, then replay the dead event. ' +
        "During a rolling deployment, unroutable: 'RETRY' leaves the event to nodes that have its listener.",
    })
    this.aggregateType = aggregateType
    this.eventType = eventType
  }
}

/** `published()` was called for an event that is DEAD. */
export class EventDeadError extends WaybillError {
  static override readonly code = 'WAYBILL_EVENT_DEAD'
  readonly eventId: string
  /** The listener's last failure; null if it is not known. */
  readonly lastError: string | null

  constructor(eventId: string, lastError: string | null) {
    const failed = lastError === null ? '' : ` Last failure: ${lastError.replace(/[.\s]+$/, '')}.`
    super(`Event ${eventId} is DEAD: its attempts are used up, or its failure is permanent.${failed}`, {
      impact: 'The row stays in the outbox.',
      hint: 'Fix the cause, then replay the dead event.',
    })
    this.eventId = eventId
    this.lastError = lastError
  }
}

/** `published()` reached its deadline before the event's delivery was confirmed. */
export class PublishedUnknownError extends WaybillError {
  static override readonly code = 'WAYBILL_PUBLISHED_UNKNOWN'
  readonly eventId: string

  constructor(eventId: string, why: string) {
    super(`Publication of event ${eventId} is not confirmed: ${why}.`, {
      impact: 'If its transaction committed, the event is in the outbox and will be delivered.',
      hint: 'Tell the caller that delivery is pending, or call published() again. Do not write the event again.',
    })
    this.eventId = eventId
  }
}

/** `published()` was called for an event whose transaction was rolled back. */
export class EventRolledBackError extends WaybillError {
  static override readonly code = 'WAYBILL_EVENT_ROLLED_BACK'
  readonly eventId: string

  constructor(eventId: string) {
    super(`The transaction of event ${eventId} was rolled back.`, {
      impact: 'Nothing was written, and nothing will be published.',
      hint: 'Run the transaction again if it is still needed; the event then gets a new id.',
    })
    this.eventId = eventId
  }
}

/**
 * A statement gave up because another transaction holds the lock of a row for too long. It changed nothing. Stores
 * throw it; the outbox leaves the locked rows aside and retries them.
 */
export class RowsLockedError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTBOX_ROWS_LOCKED'

  constructor(cause: unknown) {
    super('Another transaction holds the lock of an outbox row.', {
      impact: 'The statement changed nothing and is repeated. Other rows are not delayed.',
      hint: 'Find the session that holds the lock, and end it.',
      cause,
    })
  }
}

/** Another node polls the table exclusively. */
export class SoleNodeError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTBOX_NOT_ALONE'
  /** The owner of the lease, if it could be read. */
  readonly owner: string | undefined

  constructor(mode: string, owner: string | undefined) {
    super(`${mode} needs exclusive access to its table, and ${owner ?? 'another node'} holds it.`, {
      impact: 'Nothing was polled. The other node delivers the events in the outbox.',
      hint: 'Stop the other node first, or run all nodes with Outbox.multiNode or Outbox.keyed.',
    })
    this.owner = owner
  }
}

/** Nodes of another mode use the table. Each mode ignores the claims of the others, so they must not mix. */
export class OutboxModeError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTBOX_MODE_MIXED'
  /** The mode that uses the table. */
  readonly other: string

  constructor(mode: string, other: string) {
    super(`${mode} cannot start: nodes of ${other} use its table.`, {
      impact: 'Nothing was polled. The nodes of the other mode deliver the events in the outbox.',
      hint:
        'Run all nodes in one mode, or give each mode its own table. To change the mode, stop every node of the old one; ' +
        'the new one starts a few seconds later.',
    })
    this.other = other
  }
}
