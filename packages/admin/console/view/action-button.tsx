import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import type { Permit } from '../state/session.ts'

/** A button that says why it is off. It stays reachable for the keyboard, so that its reason is, too. */
export function ActionButton({
  permit,
  onClick,
  label,
  kind = 'usual',
  isBusy = false,
  children,
}: {
  readonly permit: Permit
  readonly onClick: () => void
  /** The name for screen readers, with the row in it: "Pause shipping". */
  readonly label?: string | undefined
  readonly kind?: 'usual' | 'primary' | 'danger' | undefined
  readonly isBusy?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  const id = useId()
  const because = permit.isAllowed ? undefined : permit.because
  const isOff = !permit.isAllowed || isBusy
  return (
    <>
      <button
        type="button"
        class={kind === 'usual' ? undefined : kind}
        aria-label={label}
        aria-disabled={isOff}
        aria-describedby={because === undefined ? undefined : id}
        title={because}
        onClick={() => {
          if (!isOff) onClick()
        }}
      >
        {children}
      </button>
      {because === undefined ? null : (
        <span id={id} class="visually-hidden">
          {because}
        </span>
      )}
    </>
  )
}
