import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { duration } from '../../format/time.ts'
import { replayText } from '../../text/replay.ts'
import { Field } from '../../view/dialog.tsx'
import { type FieldProblem, goingOf, type ReplayForm, type ReplayWhere } from './replay-form.ts'

interface FieldsProps {
  readonly form: ReplayForm
  readonly problems: readonly FieldProblem[]
  readonly set: (change: Partial<ReplayForm>) => void
}

/** Where copies go. */
export function WhereField({
  form,
  set,
  tiers,
}: Pick<FieldsProps, 'form' | 'set'> & {
  readonly tiers: readonly Pick<Schemas['Stage'], 'tier' | 'delayMs'>[]
}): JSX.Element {
  const choices: readonly ReplayWhere[] = [
    'DEFAULT',
    'BINDING',
    'ORIGINAL',
    ...(tiers.length > 0 ? ['TIER' as const] : []),
  ]
  return (
    <fieldset class="field choices-field">
      <legend>{replayText.where}</legend>
      <div class="choices">
        {choices.map((one) => (
          <label key={one}>
            <input type="radio" name="where" checked={form.where === one} onChange={() => set({ where: one })} />{' '}
            {replayText.targets[one]}
          </label>
        ))}
        {form.where === 'TIER' ? (
          <select
            aria-label={replayText.tier}
            value={form.tier}
            onChange={(event) => set({ tier: event.currentTarget.value })}
          >
            {tiers.map(({ tier, delayMs }) => (
              <option key={tier} value={String(tier)}>
                {replayText.tierOf(tier ?? 0, duration(delayMs ?? 0))}
              </option>
            ))}
          </select>
        ) : null}
        {form.where === 'ORIGINAL' ? <p class="small tone-warn">▲ {replayText.overtaken}</p> : null}
      </div>
    </fieldset>
  )
}

/** The first records, and what follows them. */
export function CanaryField({ form, problems, set }: FieldsProps): JSX.Element {
  return (
    <fieldset class="field choices-field">
      <legend>{replayText.first}</legend>
      <div class="choices">
        <span class="inline-fields">
          <NumberInput name="firstCount" label={replayText.firstCount} {...{ form, problems, set }} />{' '}
          {form.firstCount.trim() === '0' ? (
            <span class="muted">{replayText.noCanary}</span>
          ) : (
            <>
              {replayText.firstThen}{' '}
              <NumberInput name="firstSeconds" label={replayText.firstSeconds} {...{ form, problems, set }} /> s
            </>
          )}
        </span>
        {form.firstCount.trim() === '0' ? null : (
          <span class="inline-fields" role="radiogroup" aria-label={replayText.andThen}>
            <label>
              <input type="radio" name="asks" checked={form.asks} onChange={() => set({ asks: true })} />{' '}
              {replayText.ask}
            </label>
            <label>
              <input type="radio" name="asks" checked={!form.asks} onChange={() => set({ asks: false })} />{' '}
              {replayText.goOn}
            </label>
          </span>
        )}
      </div>
    </fieldset>
  )
}

/** Speed, the rule that stops it, and its bounds. */
export function PaceFields({
  form,
  problems,
  set,
  eligible,
}: FieldsProps & { readonly eligible: bigint | undefined }): JSX.Element {
  const rate = Number(form.rate)
  const length =
    eligible === undefined || !(rate > 0) ? undefined : duration((Number(goingOf(eligible, form.limit)) / rate) * 1_000)
  return (
    <>
      <Field label={replayText.speed}>
        {(id) => (
          <span class="inline-fields">
            <NumberInput id={id} name="rate" {...{ form, problems, set }} /> {replayText.speedUnit}
            {length === undefined ? null : <span class="muted">{replayText.about(length)}</span>}
          </span>
        )}
      </Field>
      <Field label={replayText.abort}>
        {(id) => (
          <span class="inline-fields">
            {replayText.abortBefore} <NumberInput id={id} name="abortPercent" {...{ form, problems, set }} />{' '}
            {replayText.abortMiddle}{' '}
            <NumberInput name="abortMinimum" label={replayText.abortMinimum} {...{ form, problems, set }} />{' '}
            {replayText.abortAfter}
          </span>
        )}
      </Field>
      <Field label={replayText.limit}>
        {(id) => (
          <span class="inline-fields">
            <NumberInput id={id} name="limit" {...{ form, problems, set }} />{' '}
            <span class="muted">{replayText.limitHint}</span>
          </span>
        )}
      </Field>
      <Field label={replayText.maxReplays}>
        {(id) => (
          <span class="inline-fields">
            <NumberInput id={id} name="maxReplays" {...{ form, problems, set }} />{' '}
            <span class="muted">{replayText.maxReplaysHint}</span>
          </span>
        )}
      </Field>
    </>
  )
}

function NumberInput({
  id,
  name,
  label,
  form,
  problems,
  set,
}: FieldsProps & {
  readonly id?: string
  readonly name: Exclude<keyof ReplayForm, 'asks' | 'where'>
  readonly label?: string
}): JSX.Element {
  const problem = problems.find(({ field }) => field === name)
  return (
    <>
      <input
        id={id}
        class="number-input"
        inputMode="decimal"
        autocomplete="off"
        aria-label={label}
        aria-invalid={problem !== undefined}
        title={label}
        value={form[name]}
        onInput={(event) => set({ [name]: event.currentTarget.value })}
      />
      {problem === undefined ? null : <span class="tone-bad small">✖ {problem.text}</span>}
    </>
  )
}
