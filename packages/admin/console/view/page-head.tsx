import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'

/** The head of a page: its one h1, and its actions. */
export function PageHead({
  title,
  after,
  actions,
  children,
}: {
  readonly title: string
  /** Beside the title: a state. */
  readonly after?: ComponentChildren
  readonly actions?: ComponentChildren
  /** Below the title. */
  readonly children?: ComponentChildren
}): JSX.Element {
  useEffect(() => {
    document.title = `${title} · Waybill`
  }, [title])
  return (
    <header class="page-head">
      <div class="page-title">
        <h1 tabIndex={-1}>{title}</h1>
        {after}
      </div>
      {actions === undefined ? null : <div class="actions">{actions}</div>}
      {children === undefined ? null : <div class="page-sub">{children}</div>}
    </header>
  )
}

/** A titled part of a page. */
export function Section({
  title,
  aside,
  children,
}: {
  readonly title: string
  readonly aside?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class="section">
      <div class="section-head">
        <h2>{title}</h2>
        {aside === undefined ? null : <div class="section-aside">{aside}</div>}
      </div>
      {children}
    </section>
  )
}
