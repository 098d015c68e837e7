import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCommand } from '../../state/command.ts'
import { operationText } from '../../text/operations.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { DangerDialog } from '../../view/danger-dialog.tsx'

/** Ends an operation. */
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
    <DangerDialog
      title={operationText.cancelTitle}
      reason={reason}
      isReasonRequired={false}
      onReason={setReason}
      curl={<CopyCurl route="cancelOperation" request={request} />}
      keep={operationText.keep}
      send={{ label: operationText.cancelSend, off: undefined, isRunning: sending.isRunning, run: send }}
      problem={sending.problem}
      onClose={onClose}
    >
      <p>{operationText.cancelAbout}</p>
    </DangerDialog>
  )
}
