import type { JSX } from 'preact'
import { lookOf } from '../../format/state-look.ts'
import { live } from '../../state/live.ts'
import { hrefOf } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { overviewText } from '../../text/overview.ts'
import { ActionButton } from '../../view/action-button.tsx'
import type { BindingCommand } from '../../view/command-dialog.tsx'
import { Loading } from '../../view/resource-view.tsx'
import { Sentence } from '../../view/sentence.tsx'
import { Glyph, StateChip } from '../../view/state-chip.tsx'

/** The health of the server: one line when it is well, a line for each reason when it is not. */
export function HealthPanel({
  onCommand,
}: {
  readonly onCommand: (command: BindingCommand, binding: string) => void
}): JSX.Element {
  const health = live.items.health.value?.get('connector')
  if (health === undefined) return <Loading rows={1} />
  const { status, reasons, remarks } = health
  const { tone, glyph } = lookOf(status)
  return (
    <section class={`health health-${tone}`} aria-label={overviewText.health}>
      <p class="health-head">
        <StateChip state={status} />
        <span class="muted">{reasons.length === 0 ? overviewText.healthy : overviewText.reasons(reasons.length)}</span>
      </p>
      {reasons.length === 0 && remarks.length === 0 ? null : (
        <ul>
          {reasons.map((reason) => (
            <li key={reason}>
              <Glyph tone={tone}>{glyph}</Glyph> <Sentence text={reason} />{' '}
              <Remedy reason={reason} onCommand={onCommand} />
            </li>
          ))}
          {remarks.map((remark) => (
            <li key={remark} class="muted">
              <Glyph tone="off">○</Glyph> <Sentence text={remark} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** The binding that a reason names, and the button that may end it. */
function Remedy({
  reason,
  onCommand,
}: {
  readonly reason: string
  readonly onCommand: (command: BindingCommand, binding: string) => void
}): JSX.Element | null {
  const name = /\bbinding '?([^\s:',.]+)/i.exec(reason)?.[1]
  const binding = name === undefined ? undefined : live.items.binding.value?.get(name)
  if (binding === undefined) return null
  const isPaused = binding.pausedBy.includes('OPERATOR')
  return (
    <span class="health-links">
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
    </span>
  )
}
