import type { JSX } from 'preact'
import { text } from '../text/parts.ts'
import { Field } from './dialog.tsx'

/** Why an operator changes something: it goes to the audit log. */
export function ReasonField({
  value,
  isRequired,
  isFocused = false,
  onInput,
}: {
  readonly value: string
  readonly isRequired: boolean
  /** Whether it has the focus when its dialog opens: Enter then sends. */
  readonly isFocused?: boolean
  readonly onInput: (reason: string) => void
}): JSX.Element {
  return (
    <Field label={text.reason} hint={isRequired ? text.reasonRequired : text.reasonHint}>
      {(id, hintId) => (
        <input
          id={id}
          aria-describedby={hintId}
          value={value}
          maxLength={500}
          required={isRequired}
          autofocus={isFocused}
          autocomplete="off"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}
