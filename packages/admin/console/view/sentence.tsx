import type { JSX } from 'preact'
import { Time } from './figures.tsx'

const instant = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

/** A sentence of the server, with its instants as the reader's clock shows them. */
export function Sentence({ text }: { readonly text: string }): JSX.Element {
  return (
    <span>
      {text.split(instant).map((part) => (instant.test(part) ? <Time key={part} at={part} isRelative /> : part))}
    </span>
  )
}
