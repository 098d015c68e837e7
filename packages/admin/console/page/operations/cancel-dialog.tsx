import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCommand } from '../../state/command.ts'
import { operationText } from '../../text/operations.ts'
import { text } from '../../text/parts.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Dialog, Field } from '../../view/dialog.tsx'
import { ProblemView } from '../../view/problem-view.tsx'

/** Ends an operation. Begins on the button that keeps it. */
export function CancelDialog({
  id,
  onClose,
  onDone,
}: {
  readonly id: string
  readonly onClose: () => void
  readonly onDone: () => void
}): JSX.Element {
  const sending = useCommand('cancelOperation')
  const [reason, setReason] = useState('')
  const request = { params: { id }, body: reason.trim() === '' ? {} : { reason: reason.trim() } }
  const send = async (): Promise<void> => {
    if ((await sending.run(request)) === undefined) return
    onDone()
    onClose()
  }
  return (
    <Dialog title={operationText.cancelTitle} onClose={onClose}>
      <p>{operationText.cancelAbout}</p>
      <Field label={text.reason} hint={text.reasonHint}>
        {(field, hintId) => (
          <input
            id={field}
            aria-describedby={hintId}
            autocomplete="off"
            maxLength={500}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        )}
      </Field>
      {sending.problem === undefined ? null : <ProblemView problem={sending.problem} />}
      <div class="dialog-actions">
        <CopyCurl route="cancelOperation" request={request} />
        <button type="button" autofocus onClick={onClose}>
          {operationText.keep}
        </button>
        <button
          type="button"
          class="danger"
          aria-disabled={sending.isRunning}
          onClick={() => {
            if (!sending.isRunning) void send()
          }}
        >
          {operationText.cancelSend}
        </button>
      </div>
    </Dialog>
  )
}
