import type { JSX } from 'preact'
import { grouped } from '../../format/number.ts'
import { outboxText } from '../../text/outbox.ts'
import { Figure } from '../../view/figures.tsx'
import { Tag } from '../../view/state-chip.tsx'

/** A count of rows; where counting stopped at its bound, it says so. */
export function BacklogFigure({ value, isBound }: { readonly value: string; readonly isBound: boolean }): JSX.Element {
  return <Figure value={isBound ? outboxText.atLeast(grouped(value)) : value} />
}

/** The mode of an outbox, explained in its title. */
export function ModeTag({ mode }: { readonly mode: string | null }): JSX.Element {
  if (mode === null) return <Figure value={null} />
  const title = Object.hasOwn(outboxText.modes, mode) ? outboxText.modes[mode] : undefined
  return <Tag {...(title === undefined ? {} : { title })}>{mode}</Tag>
}
