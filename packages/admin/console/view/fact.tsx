import type { ComponentChildren, JSX } from 'preact'

/** A name and its value, in a list of `.facts`. */
export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
