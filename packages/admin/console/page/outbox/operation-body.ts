import type { Routes } from '../../api/api-types.ts'

/** The operator's choice, as the fields of the dialog have it. */
export interface DeadEventsChoice {
  readonly operation: 'OUTBOX_REPLAY' | 'OUTBOX_PURGE'
  readonly outbox: string
  /** Empty: all types. */
  readonly eventType: string
  readonly rate: string
  /** An age such as P7D; only a purge has one. */
  readonly olderThan: string
  readonly reason: string
}

/** Returns the body of the request. A rate that is no number is left to the server's default. */
export function operationBody(choice: DeadEventsChoice): NonNullable<Routes['createOperation']['body']> {
  const { operation: type, outbox, eventType, olderThan, reason } = choice
  const rate = Number(choice.rate)
  return {
    type,
    outbox,
    ...(eventType === '' ? {} : { eventType }),
    ...(rate > 0 ? { rate } : {}),
    ...(type === 'OUTBOX_PURGE' ? { olderThan } : {}),
    ...(reason === '' ? {} : { reason }),
  }
}
