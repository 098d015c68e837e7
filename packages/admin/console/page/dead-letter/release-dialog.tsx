import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCommand } from '../../state/command.ts'
import { hrefOf, open } from '../../state/router.ts'
import { text } from '../../text/parts.ts'
import { releaseText } from '../../text/replay.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Dialog, Field } from '../../view/dialog.tsx'
import { ProblemView } from '../../view/problem-view.tsx'

/** Lets the key of a dead letter continue without it. Begins on Cancel, and nothing is sent by Enter. */
export function ReleaseDialog({
  id,
  binding,
  waiting,
  onClose,
}: {
  readonly id: string
  readonly binding: string
  /** Records of the binding that wait for their keys; undefined: not known. */
  readonly waiting: number | undefined
  readonly onClose: () => void
}): JSX.Element {
  const sending = useCommand('createOperation')
  const [reason, setReason] = useState('')
  const body = {
    type: 'RELEASE' as const,
    binding,
    ids: [id],
    ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
  }
  const off = reason.trim() === ''
  const send = async (): Promise<void> => {
    const created = await sending.run({ body })
    if (created !== undefined) open(hrefOf(['operations', created.id]))
  }
  return (
    <Dialog title={releaseText.title} onClose={onClose}>
      <p>{releaseText.about}</p>
      {waiting === undefined || waiting === 0 ? null : <p>{releaseText.waiting(waiting)}</p>}
      <p class="muted">{releaseText.stays}</p>
      <Field label={releaseText.why} hint={text.reasonRequired}>
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
        <CopyCurl route="createOperation" request={{ body }} />
        <button type="button" autofocus onClick={onClose}>
          {text.cancel}
        </button>
        <button
          type="button"
          class="danger"
          aria-disabled={off || sending.isRunning}
          onClick={() => {
            if (!off && !sending.isRunning) void send()
          }}
        >
          {releaseText.send}
        </button>
      </div>
    </Dialog>
  )
}
