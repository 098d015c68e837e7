import type { ComponentChildren, JSX } from 'preact'

/** A figure with its title, in a row of `.tiles`. It is a link where there is more to see. */
export function Tile({
  title,
  hint,
  value,
  unit,
  more,
  tone,
  href,
  children,
}: {
  readonly title: string
  readonly hint: string
  /** Undefined while it is not known. */
  readonly value: string | undefined
  readonly unit?: string
  readonly more?: string | undefined
  readonly tone?: string | undefined
  readonly href?: string
  readonly children?: ComponentChildren
}): JSX.Element {
  const body = (
    <>
      <span class="tile-title">{title}</span>
      <span class={`tile-value${tone === undefined ? '' : ` tone-${tone}`}`}>
        {value === undefined ? <span class="bar" /> : value}
        {value === undefined || unit === undefined ? null : <span class="unit">{unit}</span>}
      </span>
      <span class="tile-more">{children ?? more ?? '\u00a0'}</span>
    </>
  )
  return href === undefined ? (
    <div class="tile" title={hint}>
      {body}
    </div>
  ) : (
    <a class="tile" title={hint} href={href}>
      {body}
    </a>
  )
}
