import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { text } from '../text/parts.ts'

/** A dialog over the page. The browser keeps the focus inside, and Escape closes; the focus then returns. */
export function Dialog({
  title,
  onClose,
  children,
  footer,
  isWide = false,
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly footer?: ComponentChildren
  readonly isWide?: boolean
}): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    ref.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      class={isWide ? 'wide' : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose()
      }}
    >
      <div class="dialog">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="quiet" aria-label={text.close} onClick={onClose}>
            ✕
          </button>
        </header>
        <div class="dialog-body">{children}</div>
        {footer === undefined ? null : <footer>{footer}</footer>}
      </div>
    </dialog>
  )
}

/** A field with its label. */
export function Field({
  label,
  hint,
  children,
}: {
  readonly label: string
  readonly hint?: string | undefined
  readonly children: (id: string, hintId: string | undefined) => ComponentChildren
}): JSX.Element {
  const id = useId()
  const hintId = hint === undefined ? undefined : `${id}-hint`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="field-input">
        {children(id, hintId)}
        {hint === undefined ? null : (
          <p id={hintId} class="muted small">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}
