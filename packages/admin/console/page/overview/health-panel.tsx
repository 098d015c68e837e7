import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { lookOf } from '../../format/state-look.ts'
import { live } from '../../state/live.ts'
import { hrefOf } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { overviewText } from '../../text/overview.ts'
import { ActionButton } from '../../view/action-button.tsx'
import type { BindingCommand } from '../../view/command-dialog.tsx'
import { FindingLine } from '../../view/finding-line.tsx'
import { Loading } from '../../view/resource-view.tsx'
import { Sentence } from '../../view/sentence.tsx'
import { Glyph, StateChip } from '../../view/state-chip.tsx'
import { waitingOf } from '../outbox/outbox-reasons.tsx'
import { amountOf, limitsOf, type Reading } from './thresholds.ts'

type Command = (command: BindingCommand, binding: string) => void

const severity: Readonly<Record<string, number>> = { UP: 0, DEGRADED: 1, DOWN: 2 }

/** The health of the server: one line when it is well, a line for each reason when it is not. */
export function HealthPanel({
  readings,
  onCommand,
}: {
  readonly readings: readonly Reading[]
  readonly onCommand: Command
}): JSX.Element {
  const health = live.items.health.value?.get('connector')
  if (health === undefined) return <Loading rows={1} />
  const findings = health.findings.filter(({ status: one }) => one !== 'UP')
  const outboxes = [...(live.items.outbox.value?.values() ?? [])]
  const waits = outboxes.flatMap(({ outbox, health: own }) =>
    (own?.reasons ?? []).map((reason) => ({ outbox, reason })),
  )
  const high = readings.filter(({ status: one }) => one !== 'HEALTHY')
  const status = worstOf([
    health.status,
    ...outboxes.map(({ health: own }) => own?.status ?? 'UP'),
    ...(high.length === 0 ? [] : ['DEGRADED']),
  ])
  const count = findings.length + waits.length + high.length
  const { remarks } = health
  return (
    <section class={`health health-${lookOf(status).tone}`} aria-label={overviewText.health}>
      <p class="health-head">
        <StateChip state={status} />
        <span class="muted">{count === 0 ? overviewText.healthy : overviewText.reasons(count)}</span>
      </p>
      {count === 0 && remarks.length === 0 ? null : (
        <ul>
          {findings.map((finding) => (
            <FindingLine key={finding.what} finding={finding}>
              <Remedy finding={finding} onCommand={onCommand} />
            </FindingLine>
          ))}
          {waits.map(({ outbox, reason }) => (
            <FindingLine
              key={outbox + reason.what}
              finding={reason}
              before={
                <>
                  {overviewText.outboxNamed(outbox)}
                  {waitingOf(reason)}
                </>
              }
            >
              <a href={hrefOf(['outbox', outbox])}>{outbox}</a>
            </FindingLine>
          ))}
          {high.map((reading) => (
            <ThresholdLine key={reading.figure + JSON.stringify(reading.subject)} reading={reading} />
          ))}
          {remarks.map((remark) => (
            <li key={remark} class="finding muted">
              <Glyph tone="off">○</Glyph> <Sentence text={remark} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function worstOf(statuses: readonly string[]): string {
  return statuses.reduce((worst, one) => ((severity[one] ?? 0) > (severity[worst] ?? 0) ? one : worst), 'UP')
}

function ThresholdLine({ reading }: { readonly reading: Reading }): JSX.Element {
  const { figure, subject, value, status, runbook } = reading
  const of = subject['binding'] ?? subject['topic'] ?? ''
  const title = overviewText.thresholdFigures[figure] ?? figure
  return (
    <FindingLine
      finding={{
        status,
        what: overviewText.above(title, of, amountOf(figure, value)),
        hint: limitsOf(reading),
        since: null,
      }}
    >
      <a href={runbook} target="_blank" rel="noreferrer noopener">
        {overviewText.runbook} ↗
      </a>
    </FindingLine>
  )
}

/** The binding that a finding names, and the button that may end it. */
function Remedy({
  finding: { binding: name, what },
  onCommand,
}: {
  readonly finding: Schemas['Finding']
  readonly onCommand: Command
}): JSX.Element | null {
  const binding = [...(live.items.binding.value?.values() ?? [])].find((one) => one.name === name)
  if (binding === undefined) return null
  const isPaused = binding.pausedBy.includes('OPERATOR') && /\boperator\b/i.test(what)
  return (
    <>
      {isPaused ? (
        <ActionButton
          permit={may('bindings:operate', binding.key)}
          label={overviewText.rowAction(overviewText.resume, binding.key)}
          onClick={() => onCommand('resume', binding.key)}
        >
          {overviewText.resume}
        </ActionButton>
      ) : null}
      <a href={hrefOf(['bindings', binding.key])}>{binding.key}</a>
    </>
  )
}
