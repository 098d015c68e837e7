import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { useCommand } from '../../state/command.ts'
import { bindingText } from '../../text/binding.ts'
import { text } from '../../text/parts.ts'
import { Dialog, Field } from '../../view/dialog.tsx'
import { Figure } from '../../view/figures.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ReasonField } from '../../view/reason-field.tsx'
import { Glyph } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'
import { TypedName } from '../../view/typed-name.tsx'
import { type PositionForm, positionBody } from './position-request.ts'

const empty: PositionForm = { action: 'seek', target: 'EARLIEST', offset: '', time: '', partitions: '', reason: '' }

/** Moves positions: the plan first, then the move of exactly this plan. */
export function PositionsDialog({
  binding,
  onClose,
}: {
  readonly binding: string
  readonly onClose: () => void
}): JSX.Element {
  const [form, setForm] = useState(empty)
  const [typed, setTyped] = useState('')
  const moves = {
    seek: useCommand('seekPosition'),
    skip: useCommand('skipRecords'),
    reset: useCommand('resetPositions'),
  } as const
  const moving = moves[form.action]
  const [plan, setPlan] = useState<Schemas['CommandAnswer'] | undefined>(undefined)
  const request = positionBody(form)
  const change = (part: Partial<PositionForm>): void => {
    setForm({ ...form, ...part })
    setPlan(undefined)
    setTyped('')
  }
  const send = async (dryRun: boolean): Promise<void> => {
    if (request.kind === 'incomplete') return
    const params = { name: binding }
    const query = { dryRun }
    const answer =
      request.kind === 'seek'
        ? await moves.seek.run({ params, query, body: request.body })
        : request.kind === 'skip'
          ? await moves.skip.run({ params, query, body: request.body })
          : await moves.reset.run({ params, query, body: request.body })
    if (answer !== undefined) setPlan(answer)
  }
  const isDone = plan !== undefined && plan.dryRun !== true
  const mayMove = plan !== undefined && typed === binding && (form.action === 'seek' || form.reason.trim() !== '')
  return (
    <Dialog title={bindingText.positionsTitle(binding)} onClose={onClose} isWide>
      {isDone ? null : <Fields form={form} change={change} />}
      {moving.problem === undefined ? null : <ProblemView problem={moving.problem} />}
      {isDone ? <p>{bindingText.moved}</p> : null}
      {plan === undefined ? <p class="muted">{bindingText.planHint}</p> : <Plan plan={plan} />}
      {plan === undefined || isDone ? null : (
        <TypedName label={bindingText.typeName(binding)} value={typed} onInput={setTyped} />
      )}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {isDone ? bindingText.done : text.cancel}
        </button>
        {isDone ? null : plan === undefined ? (
          <button
            type="button"
            class="primary"
            aria-disabled={request.kind === 'incomplete' || moving.isRunning}
            onClick={() => void send(true)}
          >
            {bindingText.plan}
          </button>
        ) : (
          <button
            type="button"
            class="danger"
            aria-disabled={!mayMove || moving.isRunning}
            onClick={() => {
              if (mayMove) void send(false)
            }}
          >
            {bindingText.move}
          </button>
        )}
      </div>
    </Dialog>
  )
}

function Fields({
  form,
  change,
}: {
  readonly form: PositionForm
  readonly change: (part: Partial<PositionForm>) => void
}): JSX.Element {
  const { action, target } = form
  const targets = (['EARLIEST', 'LATEST', 'offset', 'time'] as const).filter(
    (one) => action === 'seek' || one !== 'offset',
  )
  return (
    <>
      <Field label={bindingText.action}>
        {(id) => (
          <select
            id={id}
            value={action}
            onChange={(event) =>
              change({ action: event.currentTarget.value as PositionForm['action'], target: 'EARLIEST' })
            }
          >
            {(['seek', 'skip', 'reset'] as const).map((one) => (
              <option key={one} value={one}>
                {bindingText.actions[one]}
              </option>
            ))}
          </select>
        )}
      </Field>
      {action === 'skip' ? null : (
        <Field label={bindingText.to}>
          {(id) => (
            <select
              id={id}
              value={target}
              onChange={(event) => change({ target: event.currentTarget.value as PositionForm['target'] })}
            >
              {targets.map((one) => (
                <option key={one} value={one}>
                  {bindingText.targets[one]}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {action === 'skip' || target === 'offset' ? (
        <TextField
          label={action === 'skip' ? bindingText.offsets : bindingText.offset}
          hint={action === 'skip' ? bindingText.offsetsHint : undefined}
          value={form.offset}
          onInput={(offset) => change({ offset })}
        />
      ) : null}
      {action !== 'skip' && target === 'time' ? (
        <TextField
          label={bindingText.time}
          hint={bindingText.timeHint}
          value={form.time}
          onInput={(time) => change({ time })}
        />
      ) : null}
      {action === 'reset' ? null : (
        <TextField
          label={action === 'skip' ? bindingText.ofPartition : bindingText.ofPartitions}
          hint={action === 'skip' ? undefined : bindingText.ofPartitionsHint}
          value={form.partitions}
          onInput={(partitions) => change({ partitions })}
        />
      )}
      <ReasonField value={form.reason} onInput={(reason) => change({ reason })} isRequired={action !== 'seek'} />
    </>
  )
}

function TextField({
  label,
  hint,
  value,
  onInput,
}: {
  readonly label: string
  readonly hint?: string | undefined
  readonly value: string
  readonly onInput: (value: string) => void
}): JSX.Element {
  return (
    <Field label={label} hint={hint}>
      {(id, hintId) => (
        <input
          id={id}
          aria-describedby={hintId}
          value={value}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

function Plan({ plan: { positions = [], warnings = [] } }: { readonly plan: Schemas['CommandAnswer'] }): JSX.Element {
  const { planColumns: titles } = bindingText
  return (
    <>
      <Table
        caption={bindingText.plan}
        rows={positions}
        keyOf={({ topic, partition }) => `${topic}:${partition}`}
        columns={[
          {
            id: 'partition',
            title: titles.partition,
            cell: ({ topic, partition }) => (
              <>
                {partition} <span class="muted">{topic}</span>
              </>
            ),
          },
          { id: 'from', title: titles.from, align: 'end', cell: ({ from }) => <Figure value={from} /> },
          { id: 'to', title: titles.to, align: 'end', cell: ({ to }) => <Figure value={to} /> },
          {
            id: 'skipped',
            title: titles.skipped,
            align: 'end',
            cell: ({ skipped }) => <Figure value={skipped} tone={skipped === '0' ? undefined : 'bad'} />,
          },
          {
            id: 'repeated',
            title: titles.repeated,
            align: 'end',
            cell: ({ repeated }) => <Figure value={repeated} tone={repeated === '0' ? undefined : 'warn'} />,
          },
        ]}
      />
      {warnings.map((warning) => (
        <p key={warning}>
          <Glyph tone="warn">▲</Glyph> {warning}
        </p>
      ))}
    </>
  )
}
