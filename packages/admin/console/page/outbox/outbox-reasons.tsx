import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { grouped } from '../../format/number.ts'
import { outboxText } from '../../text/outbox.ts'
import { FindingLine } from '../../view/finding-line.tsx'

type Reason = NonNullable<Schemas['OutboxDetail']['health']>['reasons'][number]

/** Returns how many events wait for a reason, unless its sentence says it already. */
export function waitingOf({ waiting, what }: Pick<Reason, 'waiting' | 'what'>): string | undefined {
  if (waiting === null || new RegExp(`\\b${waiting}\\b`).test(what)) return undefined
  return ` ${outboxText.waitingFor(grouped(waiting))}`
}

/** Why the events of an outbox wait: since when, how many, and whether something must be done. */
export function OutboxReasons({ health }: { readonly health: Schemas['OutboxDetail']['health'] }): JSX.Element | null {
  if (health === null || health.reasons.length === 0) return null
  return (
    <ul class="findings" aria-label={outboxText.reasons}>
      {health.reasons.map((reason) => (
        <FindingLine key={reason.what} finding={reason} before={waitingOf(reason)} />
      ))}
    </ul>
  )
}
