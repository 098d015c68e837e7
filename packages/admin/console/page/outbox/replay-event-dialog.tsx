import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCommand } from '../../state/command.ts'
import { me } from '../../state/session.ts'
import { outboxText } from '../../text/outbox.ts'
import { text } from '../../text/parts.ts'
import { announce } from '../../view/announcer.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ReasonField } from '../../view/reason-field.tsx'

/** Asks for a reason and makes one dead event NEW. */
export function ReplayEventDialog({
  outbox,
  eventId,
  onClose,
}: {
  readonly outbox: string
  readonly eventId: string
  readonly onClose: () => void
}): JSX.Element {
  const sending = useCommand('replayDeadEvent')
  const [reason, setReason] = useState('')
  const request = { params: { outbox, eventId }, body: reason === '' ? {} : { reason } }
  const send = async (): Promise<void> => {
    const answer = await sending.run(request)
    if (answer === undefined) return
    announce(answer.replayed ? outboxText.replayed : outboxText.notReplayed)
    if (answer.replayed) onClose()
  }
  return (
    <Dialog title={outboxText.replayOne(eventId)} onClose={onClose}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <p>{outboxText.replayAbout}</p>
        <ReasonField value={reason} isRequired={me.value?.requireReason === 'ALWAYS'} isFocused onInput={setReason} />
        {sending.answer?.replayed === false ? <p class="tone-warn">{outboxText.notReplayed}</p> : null}
        {sending.problem === undefined ? null : <ProblemView problem={sending.problem} />}
        <div class="dialog-actions">
          <CopyCurl route="replayDeadEvent" request={request} />
          <button type="button" onClick={onClose}>
            {text.cancel}
          </button>
          <button type="submit" class="primary" aria-disabled={sending.isRunning}>
            {outboxText.replay}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
