import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCommand } from '../../state/command.ts'
import { hrefOf, open } from '../../state/router.ts'
import { releaseText } from '../../text/replay.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { DangerDialog } from '../../view/danger-dialog.tsx'

/** Lets the key of a dead letter continue without it. */
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
  const send = async (): Promise<void> => {
    const created = await sending.run({ body })
    if (created !== undefined) open(hrefOf(['operations', created.id]))
  }
  return (
    <DangerDialog
      title={releaseText.title}
      reason={reason}
      isReasonRequired
      onReason={setReason}
      curl={<CopyCurl route="createOperation" request={{ body }} />}
      send={{ label: releaseText.send, off: undefined, isRunning: sending.isRunning, run: send }}
      problem={sending.problem}
      onClose={onClose}
    >
      <p>{releaseText.about}</p>
      {waiting === undefined || waiting === 0 ? null : <p>{releaseText.waiting(waiting)}</p>}
      <p class="muted">{releaseText.stays}</p>
    </DangerDialog>
  )
}
