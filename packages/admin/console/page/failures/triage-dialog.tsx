import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { useCommand } from '../../state/command.ts'
import { me } from '../../state/session.ts'
import { triageText } from '../../text/failures.ts'
import { text } from '../../text/parts.ts'
import { announce } from '../../view/announcer.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Dialog, Field } from '../../view/dialog.tsx'
import { ProblemView } from '../../view/problem-view.tsx'

const states = ['OPEN', 'RESOLVED', 'IGNORED'] as const

type GroupState = (typeof states)[number]

/** Sets the state and the note of a failure group. */
export function TriageDialog({
  group,
  onClose,
  onSaved,
}: {
  readonly group: Schemas['FailureGroup']
  readonly onClose: () => void
  readonly onSaved: () => void
}): JSX.Element {
  const saving = useCommand('triageFailureGroup')
  const [state, setState] = useState<GroupState>(states.find((one) => one === group.state) ?? 'OPEN')
  const [note, setNote] = useState(group.note ?? '')
  const [reason, setReason] = useState('')
  const isRequired = me.value?.requireReason === 'ALWAYS'
  const request = {
    params: { group: group.group },
    body: {
      ...(state === group.state ? {} : { state }),
      ...(note === (group.note ?? '') ? {} : { note: note === '' ? null : note }),
      ...(reason === '' ? {} : { reason }),
    },
  }
  const save = async (): Promise<void> => {
    if ((await saving.run(request)) === undefined) return
    announce(triageText.saved)
    onSaved()
    onClose()
  }
  return (
    <Dialog title={triageText.title(group.exception.slice(0, 80))} onClose={onClose}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <Field label={triageText.note} hint={triageText.noteHint}>
          {(id, hintId) => (
            <textarea
              id={id}
              aria-describedby={hintId}
              rows={3}
              maxLength={2_000}
              autofocus
              value={note}
              onInput={(event) => setNote(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void save()
              }}
            />
          )}
        </Field>
        <fieldset class="choices">
          <legend>{triageText.state}</legend>
          {states.map((one) => (
            <label key={one}>
              <input type="radio" name="state" checked={one === state} onChange={() => setState(one)} />{' '}
              {triageText.states[one]}
            </label>
          ))}
        </fieldset>
        {isRequired ? (
          <Field label={text.reason} hint={text.reasonRequired}>
            {(id, hintId) => (
              <input
                id={id}
                aria-describedby={hintId}
                required
                maxLength={500}
                autocomplete="off"
                value={reason}
                onInput={(event) => setReason(event.currentTarget.value)}
              />
            )}
          </Field>
        ) : null}
        {saving.problem === undefined ? null : <ProblemView problem={saving.problem} />}
        <div class="dialog-actions">
          <CopyCurl route="triageFailureGroup" request={request} />
          <button type="button" onClick={onClose}>
            {text.cancel}
          </button>
          <button type="submit" class="primary" aria-disabled={saving.isRunning}>
            {triageText.save}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
