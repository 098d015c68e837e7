import type { JSX } from 'preact'

/** Parts of a page, as links: each has an address. */
export function Tabs<W extends string>({
  label,
  tabs,
  current,
  hrefOf,
}: {
  readonly label: string
  readonly tabs: readonly { readonly id: W; readonly title: string; readonly count?: string | number | undefined }[]
  readonly current: W
  readonly hrefOf: (id: W) => string
}): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, title, count }) => (
        <a key={id} href={hrefOf(id)} aria-current={id === current ? 'page' : undefined}>
          {title}
          {count === undefined ? null : <span class="count">{count}</span>}
        </a>
      ))}
    </nav>
  )
}
