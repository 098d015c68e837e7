import type { ComponentChildren, JSX } from 'preact'
import { lookOf, type Tone } from '../format/state-look.ts'

/** A state: glyph, word and color. */
export function StateChip({
  state,
  of,
  children,
  title,
}: {
  readonly state: string
  readonly of?: 'BREAKER' | 'OPERATION' | undefined
  /** Words after the state: by whom, since when. */
  readonly children?: ComponentChildren
  readonly title?: string | undefined
}): JSX.Element {
  const { tone, glyph } = lookOf(state, of)
  return (
    <span class={`state tone-${tone}`} title={title}>
      <span class="glyph" aria-hidden="true">
        {glyph}
      </span>{' '}
      {state}
      {children === undefined ? null : <span class="state-more"> {children}</span>}
    </span>
  )
}

/** A glyph alone, where the word stands beside it. */
export function Glyph({ tone, children }: { readonly tone: Tone; readonly children: string }): JSX.Element {
  return (
    <span class={`glyph tone-${tone}`} aria-hidden="true">
      {children}
    </span>
  )
}

/** A small neutral label: a role, a mode. */
export function Tag({
  children,
  title,
}: {
  readonly children: ComponentChildren
  readonly title?: string
}): JSX.Element {
  return (
    <span class="tag" title={title}>
      {children}
    </span>
  )
}
