/** The history of an operation, from its own fields and the audit log. Pure. */

import type { Schemas } from '../../api/api-types.ts'

/** A step of it. */
export interface TimelineStep {
  readonly at: string
  readonly text: string
  readonly by?: string | undefined
  readonly reason?: string | undefined
}

const words: Readonly<Record<string, string>> = {
  START_OPERATION: 'started',
  PAUSE_OPERATION: 'asked to pause',
  RESUME_OPERATION: 'resumed',
  CANCEL_OPERATION: 'asked to cancel',
  CHANGE_OPERATION: 'speed changed',
}

/** Returns the steps, the newest first. */
export function timelineOf(
  { id, createdAt, startedAt, endedAt, state, by, reason }: Schemas['Operation'],
  entries: readonly Schemas['AuditEntry'][],
): readonly TimelineStep[] {
  const told = entries.filter((one) => Object.hasOwn(words, one.operation) && idIn(one.request) === id)
  const steps: TimelineStep[] = [
    { at: createdAt, text: 'created', by, reason: reason ?? undefined },
    ...told.map((one) => ({
      at: one.at,
      text: `${words[one.operation]}${one.outcome === 'REFUSED' ? ' (refused)' : ''}`,
      by: one.by,
      reason: one.reason ?? undefined,
    })),
  ]
  // The log may not be readable, or may begin later.
  if (startedAt !== null && !told.some(({ operation }) => operation === 'START_OPERATION'))
    steps.push({ at: startedAt, text: 'started' })
  if (endedAt !== null) steps.push({ at: endedAt, text: state })
  return steps.toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at))
}

function idIn(request: unknown): unknown {
  return typeof request === 'object' && request !== null ? (request as { readonly id?: unknown }).id : undefined
}
