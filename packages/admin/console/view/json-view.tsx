import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { indented, jsonTokens } from '../format/json-tokens.ts'
import { Inert } from './bytes-view.tsx'

/** A value of the API as JSON. Values of records are shown by BytesView, which never parses them. */
export function JsonView({ title, value }: { readonly title: string; readonly value: unknown }): JSX.Element {
  const tokens = useMemo(() => indented(jsonTokens(JSON.stringify(value)) ?? []), [value])
  return (
    <section>
      <h3>{title}</h3>
      <pre class="payload wrap" tabIndex={0} aria-label={title}>
        {tokens.map(({ kind, text }, at) =>
          kind === 'space' ? (
            text
          ) : (
            <span key={at} class={`json-${kind}`}>
              <Inert>{text}</Inert>
            </span>
          ),
        )}
      </pre>
    </section>
  )
}
