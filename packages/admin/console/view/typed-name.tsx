import type { JSX } from 'preact'
import { text } from '../text/parts.ts'
import { Field } from './dialog.tsx'

/** A field that must repeat a name before something is destroyed. */
export function TypedName({
  label,
  value,
  onInput,
}: {
  /** Says what to type: "Type orders.DLT to confirm". */
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
}): JSX.Element {
  return (
    <Field label={text.confirm}>
      {(id) => (
        <>
          <p id={`${id}-what`}>{label}</p>
          <input
            id={id}
            aria-describedby={`${id}-what`}
            value={value}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        </>
      )}
    </Field>
  )
}
