import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { useResource } from '../../state/resource.ts'
import { sees } from '../../state/session.ts'
import { operationText } from '../../text/operations.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { Time } from '../../view/figures.tsx'
import { Section } from '../../view/page-head.tsx'
import { timelineOf } from './timeline.ts'

/** Shows its events and their operators, the newest first. */
export function OperationTimeline({ operation }: { readonly operation: Schemas['Operation'] }): JSX.Element {
  const { createdAt, state, rate, wish } = operation
  const entries = useResource(
    async (signal) => {
      if (!sees('audit:read')) return []
      const query = { since: createdAt, limit: 200 }
      return (await call('listAuditEntries', { query }, { signal })).items
    },
    [createdAt, state, rate, wish],
    { everyMs: 0 },
  )
  const steps = timelineOf(operation, entries.value ?? [])
  return (
    <Section title={operationText.timeline}>
      <ol class="op-timeline">
        {steps.slice(0, 50).map(({ at, text, by, reason }, index) => (
          <li key={index}>
            <Time at={at} />
            <span>
              {text}
              {by === undefined ? null : (
                <span class="muted">
                  {' '}
                  {operationText.by} <Inert>{by.slice(0, 100)}</Inert>
                </span>
              )}
              {reason === undefined ? null : (
                <span class="muted">
                  {' '}
                  “<Inert>{reason.slice(0, 300)}</Inert>”
                </span>
              )}
            </span>
          </li>
        ))}
      </ol>
    </Section>
  )
}
