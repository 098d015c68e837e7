import type { ComponentChildren, JSX } from 'preact'
import type { Problem } from '../api/problem.ts'
import { text } from '../text/parts.ts'
import { Dialog } from './dialog.tsx'
import { ProblemView } from './problem-view.tsx'
import { ReasonField } from './reason-field.tsx'

/**
 * The frame of a dialog that gives something up: its consequences, a reason, and two buttons. It begins on the button that
 * changes nothing, and Enter sends nothing.
 */
export function DangerDialog({
  title,
  children,
  after,
  reason,
  isReasonRequired,
  onReason,
  curl,
  keep = text.cancel,
  send,
  problem,
  onClose,
}: {
  readonly title: string
  /** The consequences, and the fields above the reason. */
  readonly children: ComponentChildren
  /** Fields below the reason. */
  readonly after?: ComponentChildren
  readonly reason: string
  readonly isReasonRequired: boolean
  readonly onReason: (reason: string) => void
  /** Copies the request as a command line. */
  readonly curl?: ComponentChildren
  /** The button that changes nothing. @defaultValue Cancel */
  readonly keep?: string
  readonly send: {
    readonly label: string
    /** Why it cannot be sent yet; undefined: it can. */
    readonly off: string | undefined
    readonly isRunning: boolean
    readonly run: () => Promise<void>
  }
  readonly problem: Problem | undefined
  readonly onClose: () => void
}): JSX.Element {
  const off = send.off ?? (isReasonRequired && reason.trim() === '' ? text.reasonMissing : undefined)
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <ReasonField value={reason} isRequired={isReasonRequired} onInput={onReason} />
      {after}
      {problem === undefined ? null : <ProblemView problem={problem} />}
      <div class="dialog-actions">
        {curl}
        <button type="button" autofocus onClick={onClose}>
          {keep}
        </button>
        <button
          type="button"
          class="danger"
          aria-disabled={off !== undefined || send.isRunning}
          title={off}
          onClick={() => {
            if (off === undefined && !send.isRunning) void send.run()
          }}
        >
          {send.label}
        </button>
      </div>
    </Dialog>
  )
}
