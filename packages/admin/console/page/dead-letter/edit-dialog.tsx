import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call, newIdempotencyKey } from '../../api/client.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { hrefOf, open } from '../../state/router.ts'
import { editText } from '../../text/dead-letter.ts'
import { text } from '../../text/parts.ts'
import { announce } from '../../view/announcer.tsx'
import { Inert } from '../../view/bytes-view.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { DiffView } from '../../view/diff-view.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ReasonField } from '../../view/reason-field.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { type EditDraft, editBody, linesOf, noEdit, valueOf } from './edit-draft.ts'
import { EditHeaders } from './edit-headers.tsx'
import { versionOf } from './letter-facts.ts'
import { useVerdict, type Verdict } from './use-verdict.ts'

/** Replays a copy with another value or other headers, after its difference and its schema were looked at. */
export function EditDialog({
  letter,
  onClose,
  onChanged,
}: {
  readonly letter: Schemas['DeadLetterDetail']
  readonly onClose: () => void
  /** Another operator was faster: the dead letter is read again. */
  readonly onChanged: () => void
}): JSX.Element {
  const [draft, setDraft] = useState<EditDraft>(noEdit)
  const [sending, setSending] = useState<{
    readonly isRunning: boolean
    readonly problem: Problem | undefined
    readonly key: string
  }>(() => ({ isRunning: false, problem: undefined, key: newIdempotencyKey() }))
  const set = (change: Partial<EditDraft>): void => setDraft({ ...draft, ...change })
  const before = valueOf(letter)
  const body = editBody(letter, draft)
  const verdict = useVerdict(letter, body)
  const off = offBecause(draft, body !== undefined, verdict)
  const send = async (): Promise<void> => {
    if (off !== undefined || body === undefined || sending.isRunning) return
    setSending({ ...sending, isRunning: true, problem: undefined })
    try {
      const answer = await call(
        'editDeadLetter',
        { params: { id: letter.id }, body },
        { ifMatch: versionOf(letter), idempotencyKey: sending.key },
      )
      announce(editText.send)
      if (answer.operation === undefined) onClose()
      else open(hrefOf(['operations', answer.operation]))
    } catch (error) {
      const problem = problemOf(error)
      // Without an answer the next try sends the same key, so that the copy cannot go twice.
      setSending({ isRunning: false, problem, key: problem.status === 0 ? sending.key : newIdempotencyKey() })
      if (problem.status === 409) onChanged()
    }
  }
  return (
    <Dialog title={editText.title} onClose={onClose} isWide>
      <p class="muted">{editText.about}</p>
      {'off' in before ? (
        <p class="tone-warn">▲ {editText[before.off]}</p>
      ) : (
        <ValueEditor original={before.text} value={draft.value ?? before.text} onInput={(value) => set({ value })} />
      )}
      <EditHeaders letter={letter} draft={draft} set={set} />
      <VerdictView verdict={verdict} isChanged={body !== undefined} />
      {verdict.answer?.schema?.verdict === 'INVALID' ? (
        <label class="check">
          <input
            type="checkbox"
            checked={draft.force}
            onChange={(event) => set({ force: event.currentTarget.checked })}
          />{' '}
          {editText.force}
        </label>
      ) : null}
      <label class="check">
        <input
          type="checkbox"
          checked={draft.newEventId}
          onChange={(event) => set({ newEventId: event.currentTarget.checked })}
        />{' '}
        {editText.newEventId}
      </label>
      <ReasonField value={draft.reason} isRequired onInput={(reason) => set({ reason })} />
      {sending.problem === undefined ? null : <ProblemView problem={sending.problem} />}
      {sending.problem?.status === 409 ? (
        <p>
          {editText.changedMeanwhile}{' '}
          <button type="button" onClick={onClose}>
            {editText.look}
          </button>
        </p>
      ) : null}
      <div class="dialog-actions">
        {body === undefined ? null : (
          <CopyCurl
            route="editDeadLetter"
            request={{ params: { id: letter.id }, body }}
            headers={{ 'If-Match': versionOf(letter) }}
          />
        )}
        <button type="button" onClick={onClose}>
          {text.cancel}
        </button>
        <button
          type="button"
          class="primary"
          aria-disabled={off !== undefined || sending.isRunning}
          title={off}
          onClick={() => void send()}
        >
          {editText.send}
        </button>
      </div>
    </Dialog>
  )
}

function ValueEditor({
  original,
  value,
  onInput,
}: {
  readonly original: string
  readonly value: string
  readonly onInput: (value: string) => void
}): JSX.Element {
  return (
    <>
      <div class="edit-sides">
        <section aria-label={editText.original}>
          <div class="edit-head">
            <span class="muted">{editText.original}</span>
          </div>
          <pre class="payload wrap" tabIndex={0}>
            <Inert>{linesOf(original)}</Inert>
          </pre>
        </section>
        <section aria-label={editText.edited}>
          <div class="edit-head">
            <span class="muted">{editText.edited}</span>
            <span>
              <button type="button" class="quiet" onClick={() => onInput(linesOf(value))}>
                {editText.indent}
              </button>
              <button type="button" class="quiet" onClick={() => onInput(original)}>
                {editText.reset}
              </button>
            </span>
          </div>
          <textarea
            class="edit-value"
            aria-label={editText.edited}
            spellcheck={false}
            autofocus
            value={value}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        </section>
      </div>
      {value === original ? null : (
        <section aria-label={editText.difference}>
          <DiffView before={linesOf(original)} after={linesOf(value)} />
        </section>
      )}
    </>
  )
}

function VerdictView({
  verdict,
  isChanged,
}: {
  readonly verdict: Verdict
  readonly isChanged: boolean
}): JSX.Element | null {
  if (!isChanged) return null
  if (verdict.problem !== undefined) return <ProblemView problem={verdict.problem} />
  const { schema, diff } = verdict.answer ?? {}
  return (
    <div class="field" role="status" aria-busy={verdict.isChecking}>
      <span class="field-name">{editText.schema}</span>
      {schema === undefined ? (
        <span class="muted">{editText.checking}</span>
      ) : (
        <span class={verdict.isChecking ? 'stale' : undefined}>
          <StateChip state={schema.verdict} /> {editText.verdicts[schema.verdict] ?? ''}{' '}
          {schema.problem === null ? null : <Inert>{schema.problem.slice(0, 1_000)}</Inert>}
          {diff === undefined || diff.length === 0 ? null : (
            <span class="muted">
              {' '}
              {editText.paths(diff.length)}:{' '}
              <Inert>
                {diff
                  .slice(0, 5)
                  .map(({ path }) => path)
                  .join(', ')
                  .slice(0, 300)}
              </Inert>
            </span>
          )}
        </span>
      )}
    </div>
  )
}

function offBecause(draft: EditDraft, isChanged: boolean, { answer, isChecking }: Verdict): string | undefined {
  const { missing } = editText
  if (!isChanged) return missing.change
  if (answer?.schema === undefined || isChecking) return missing.verdict
  if (answer.schema.verdict === 'INVALID' && !draft.force) return missing.schema
  return draft.reason.trim() === '' ? missing.reason : undefined
}
