import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCommand } from '../../state/command.ts'
import { me } from '../../state/session.ts'
import { text } from '../../text/parts.ts'
import { projectionsText } from '../../text/projections.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { OperationStarted } from '../../view/operation-started.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ReasonField } from '../../view/reason-field.tsx'

/** Says what a rebuild does, asks for a reason, and starts it as an operation. */
export function RebuildDialog({
  projection,
  onClose,
}: {
  readonly projection: string
  readonly onClose: () => void
}): JSX.Element {
  const sending = useCommand('createOperation')
  const [reason, setReason] = useState('')
  const request = {
    body: { type: 'PROJECTION_REBUILD', projection, ...(reason === '' ? {} : { reason }) },
  } as const
  const { answer } = sending
  return (
    <Dialog title={projectionsText.rebuildTitle(projection)} onClose={onClose}>
      {answer === undefined ? (
        <form
          method="dialog"
          onSubmit={(event) => {
            event.preventDefault()
            void sending.run(request)
          }}
        >
          <p>{projectionsText.rebuildAbout}</p>
          <ReasonField value={reason} isRequired={me.value?.requireReason === 'ALWAYS'} isFocused onInput={setReason} />
          {sending.problem === undefined ? null : <ProblemView problem={sending.problem} />}
          <div class="dialog-actions">
            <CopyCurl route="createOperation" request={request} />
            <button type="button" onClick={onClose}>
              {text.cancel}
            </button>
            <button type="submit" class="primary" aria-disabled={sending.isRunning}>
              {projectionsText.rebuildSend}
            </button>
          </div>
        </form>
      ) : (
        <OperationStarted id={answer.id} onClose={onClose} />
      )}
    </Dialog>
  )
}
