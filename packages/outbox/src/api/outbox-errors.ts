import { WaybillError } from '@waybill/core'

/** No listener is registered for the event's aggregate type and type (S1-069). */
export class UnroutableEventError extends WaybillError {
  static override readonly code = 'WAYBILL_EVENT_UNROUTABLE'
  readonly aggregateType: string
  readonly eventType: string

  constructor(aggregateType: string, eventType: string) {
    super(`No listener is registered for ${aggregateType}:${eventType}.`, {
      impact: 'The row stays in the outbox.',
      hint:
        'Register a listener for exactly this aggregate type and event type, then replay the dead event; ' +
        "while versions are rolled out, unroutable: 'RETRY' leaves it to the nodes that know it.",
    })
    this.aggregateType = aggregateType
    this.eventType = eventType
  }
}

/** published() was asked about an event whose delivery was given up. */
export class EventDeadError extends WaybillError {
  static override readonly code = 'WAYBILL_EVENT_DEAD'
  readonly eventId: string
  /** What its listener failed with last; null where nothing is known of it. */
  readonly lastError: string | null

  constructor(eventId: string, lastError: string | null) {
    const failed = lastError === null ? '' : ` Its listener failed last with: ${lastError.replace(/[.\s]+$/, '')}.`
    super(`Event ${eventId} is DEAD: its attempts are used up, or trying again cannot help.${failed}`, {
      impact: 'Its row is in the outbox.',
      hint: 'Mend the cause, then replay the dead event.',
    })
    this.eventId = eventId
    this.lastError = lastError
  }
}

/** published() reached its deadline: whether and when the event arrives is not known yet. */
export class PublishedUnknownError extends WaybillError {
  static override readonly code = 'WAYBILL_PUBLISHED_UNKNOWN'
  readonly eventId: string

  constructor(eventId: string, why: string) {
    super(`Nobody can say yet that event ${eventId} was published: ${why}.`, {
      impact: 'If its transaction committed, the event is in the outbox and will be delivered.',
      hint: 'Answer the caller that it is on its way, or ask again; do not write the event a second time.',
    })
    this.eventId = eventId
  }
}

/** published() was asked about an event whose transaction was rolled back. */
export class EventRolledBackError extends WaybillError {
  static override readonly code = 'WAYBILL_EVENT_ROLLED_BACK'
  readonly eventId: string

  constructor(eventId: string) {
    super(`The transaction of event ${eventId} was rolled back.`, {
      impact: 'Nothing of it was written, and nothing will be published.',
      hint: 'Run the transaction again if it is still wanted; the event gets a new id then.',
    })
    this.eventId = eventId
  }
}

/** Another node polls the table alone (C-80). */
export class SoleNodeError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTBOX_NOT_ALONE'
  /** Who holds the lease, if it could be read. */
  readonly owner: string | undefined

  constructor(mode: string, owner: string | undefined) {
    super(`${mode} works on a table alone, and ${owner ?? 'another node'} does so already.`, {
      impact: 'Nothing was polled. What is in the outbox is delivered by the other node.',
      hint: 'Stop the other node first, or run all nodes with Outbox.multiNode or Outbox.keyed.',
    })
    this.owner = owner
  }
}

/** Nodes of another mode work on the table: what one mode holds, the other does not look at (C-80). */
export class OutboxModeError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTBOX_MODE_MIXED'
  /** The mode that has the table. */
  readonly other: string

  constructor(mode: string, other: string) {
    super(`${mode} was to start on a table that ${other} works on.`, {
      impact: 'Nothing was polled. What is in the outbox is delivered by the nodes of the other mode.',
      hint:
        'Run all nodes in one mode, or give each its own table. To change the mode, stop every node of the old one: the ' +
        'new one starts some seconds later.',
    })
    this.other = other
  }
}
