import type { JSX } from 'preact'
import { letterText } from '../../text/dead-letter.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { Time } from '../../view/figures.tsx'
import { Glyph } from '../../view/state-chip.tsx'
import type { LetterStep } from './letter-facts.ts'

/** The way of a record: written, tried in each tier, dead. The newest step first. */
export function AttemptTimeline({ steps }: { readonly steps: readonly LetterStep[] }): JSX.Element {
  return (
    <ol class="timeline">
      {steps.slice(0, 100).map((step, at) => (
        <li key={at}>
          <Glyph tone={step.kind === 'WRITTEN' ? 'off' : 'bad'}>{glyphs[step.kind]}</Glyph>
          <span class="timeline-name">{nameOf(step)}</span>
          <span class="muted">{step.kind === 'TIER' ? letterText.calls(String(step.calls)) : ''}</span>
          <span class="timeline-error">
            <Inert>{step.exception.slice(0, 120)}</Inert>
          </span>
          <Time at={step.at} />
        </li>
      ))}
    </ol>
  )
}

const glyphs = { DIED: '■', TIER: '✖', WRITTEN: '○' } as const

function nameOf({ kind, tier }: LetterStep): string {
  if (kind === 'DIED') return letterText.diedLine
  if (kind === 'WRITTEN') return letterText.written
  return tier === 0 ? letterText.memory : letterText.tier(tier)
}
