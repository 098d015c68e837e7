import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { grouped } from '../../format/number.ts'
import { useCommand } from '../../state/command.ts'
import { me } from '../../state/session.ts'
import { outboxText } from '../../text/outbox.ts'
import { text } from '../../text/parts.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Dialog, Field } from '../../view/dialog.tsx'
import { OperationStarted } from '../../view/operation-started.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ReasonField } from '../../view/reason-field.tsx'
import { operationBody } from './operation-body.ts'

/** An operation on many dead events. */
export type DeadEventsOperation = 'OUTBOX_REPLAY' | 'OUTBOX_PURGE'

const { ages } = outboxText

/** Plans an operation on the dead events of an outbox, shows what it would do, and starts it. */
export function DeadEventsDialog({
  outbox,
  operation,
  eventType,
  onClose,
}: {
  readonly outbox: string
  readonly operation: DeadEventsOperation
  /** Empty: all types. */
  readonly eventType: string
  readonly onClose: () => void
}): JSX.Element {
  const isPurge = operation === 'OUTBOX_PURGE'
  const planning = useCommand('createOperation')
  const sending = useCommand('createOperation')
  const [reason, setReason] = useState('')
  const [rate, setRate] = useState('50')
  const [olderThan, setOlderThan] = useState('PT0S')
  const [typed, setTyped] = useState('')
  const choice = { operation, outbox, eventType, rate, olderThan, reason }
  useEffect(() => {
    void planning.run({ query: { dryRun: true }, body: operationBody({ ...choice, reason: '' }) })
  }, [olderThan])
  const count = planning.answer?.plan['matched']
  const matched = typeof count === 'string' ? count : '0'
  const request = { body: { ...operationBody(choice), ...(isPurge ? { confirm: matched } : {}) } }
  const isReady = planning.answer !== undefined && matched !== '0' && (!isPurge || typed === matched)
  const isReasonRequired = me.value?.requireReason === 'ALWAYS' || (isPurge && me.value?.requireReason !== 'NEVER')
  const started = sending.answer
  return (
    <Dialog title={isPurge ? outboxText.purgeTitle(outbox) : outboxText.replayTitle(outbox)} onClose={onClose}>
      {started !== undefined ? (
        <OperationStarted id={started.id} onClose={onClose} />
      ) : (
        <form
          method="dialog"
          onSubmit={(event) => {
            event.preventDefault()
            if (isReady) void sending.run(request)
          }}
        >
          <p>{isPurge ? outboxText.purgeAbout : outboxText.replayAbout}</p>
          <Field label={outboxText.matching}>
            {(id) => <output id={id}>{outboxText.matchingType(eventType)}</output>}
          </Field>
          {isPurge ? (
            <Field label={outboxText.olderThan}>
              {(id) => (
                <select id={id} value={olderThan} onChange={(event) => setOlderThan(event.currentTarget.value)}>
                  {Object.entries(ages).map(([age, title]) => (
                    <option key={age} value={age}>
                      {title}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          ) : null}
          <Field label={outboxText.plan}>
            {(id) => (
              <output id={id} class="figure">
                {planning.answer === undefined ? outboxText.planning : outboxText.matched(grouped(matched))}
              </output>
            )}
          </Field>
          <Field label={outboxText.rate} hint={outboxText.perSecond}>
            {(id, hintId) => (
              <input
                id={id}
                aria-describedby={hintId}
                type="number"
                min="0.1"
                max="10000"
                step="any"
                required
                value={rate}
                onInput={(event) => setRate(event.currentTarget.value)}
              />
            )}
          </Field>
          <ReasonField value={reason} isRequired={isReasonRequired} isFocused onInput={setReason} />
          {isPurge && matched !== '0' ? (
            <Field label={outboxText.confirm(matched)}>
              {(id) => (
                <input
                  id={id}
                  value={typed}
                  inputMode="numeric"
                  autocomplete="off"
                  onInput={(event) => setTyped(event.currentTarget.value)}
                />
              )}
            </Field>
          ) : null}
          {planning.problem === undefined ? null : <ProblemView problem={planning.problem} />}
          {sending.problem === undefined ? null : <ProblemView problem={sending.problem} />}
          <div class="dialog-actions">
            <CopyCurl route="createOperation" request={request} />
            <button type="button" onClick={onClose}>
              {text.cancel}
            </button>
            <button type="submit" class={isPurge ? 'danger' : 'primary'} aria-disabled={!isReady || sending.isRunning}>
              {outboxText.send[operation](grouped(matched))}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  )
}
