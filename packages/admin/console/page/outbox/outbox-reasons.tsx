import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { grouped } from '../../format/number.ts'
import { outboxText } from '../../text/outbox.ts'
import { FindingLine } from '../../view/finding-line.tsx'

/** Why the events of an outbox wait: since when, how many, and whether something must be done. */
export function OutboxReasons({ health }: { readonly health: Schemas['OutboxDetail']['health'] }): JSX.Element | null {
  if (health === null || health.reasons.length === 0) return null
  return (
    <ul class="findings" aria-label={outboxText.reasons}>
      {health.reasons.map((reason) => (
        <FindingLine
          key={reason.what}
          finding={reason}
          before={reason.waiting === null ? undefined : `${outboxText.waitingFor(grouped(reason.waiting))} `}
        />
      ))}
    </ul>
  )
}
