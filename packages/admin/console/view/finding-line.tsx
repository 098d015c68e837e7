import './finding-line.css'
import type { ComponentChildren, JSX } from 'preact'
import { lookOf } from '../format/state-look.ts'
import { text } from '../text/parts.ts'
import { Ago, Time } from './figures.tsx'
import { Sentence } from './sentence.tsx'
import { Glyph } from './state-chip.tsx'

/** A reason why something is not well. */
export interface ShownFinding {
  readonly status: string
  readonly what: string
  readonly hint: string
  readonly since: string | null
}

/** A line of a list of findings: what is wrong since when, what it means, and the way out of it. */
export function FindingLine({
  finding: { status, what, hint, since },
  before,
  children,
}: {
  readonly finding: ShownFinding
  /** Words before the sentence, such as the name of an outbox. */
  readonly before?: ComponentChildren
  /** Links and buttons. */
  readonly children?: ComponentChildren
}): JSX.Element {
  const { tone, glyph } = lookOf(status)
  return (
    <li class="finding">
      <Glyph tone={tone}>{glyph}</Glyph>
      <span>
        {before} <Sentence text={what} />{' '}
        {since === null ? null : (
          <span class="muted">
            {text.since} <Time at={since} /> · <Ago at={since} />
          </span>
        )}
      </span>
      {children === undefined ? null : <span class="finding-links">{children}</span>}
      {hint === '' ? null : <span class="finding-hint muted small">{hint}</span>}
    </li>
  )
}
