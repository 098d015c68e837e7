import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { grouped, percent } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { useCommand } from '../../state/command.ts'
import type { Permit } from '../../state/session.ts'
import { operationText } from '../../text/operations.ts'
import { replayText } from '../../text/replay.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { Inert } from '../../view/bytes-view.tsx'
import { Section } from '../../view/page-head.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { abortRuleOf, allOf, hasOutcomes, isOver, settledOf } from './operation-facts.ts'
import { OutcomeBar } from './outcome-bar.tsx'

type Operation = Schemas['Operation']

/** How far it is, how fast it goes, and what became of what was sent. */
export function OperationProgress({
  operation,
  permit,
  onChanged,
}: {
  readonly operation: Operation
  readonly permit: Permit
  readonly onChanged: () => void
}): JSX.Element {
  const { progress, outcomes, takeovers, runner, wish, state } = operation
  const all = allOf(operation)
  const refused = Object.entries(progress.refused)
  return (
    <Section
      title={operationText.progress}
      aside={isOver(operation) ? null : <RateField {...{ operation, permit, onChanged }} />}
    >
      <div class="operation-progress">
        {all === undefined ? null : (
          <progress
            class="wide-progress"
            max={Math.max(1, Number(all))}
            value={Number(progress.sent)}
            aria-label={operationText.progress}
          />
        )}
        <p class="progress-facts">
          <strong class="figure">{sentText(operation, all)}</strong>
          {state === 'RUNNING' && progress.etaMs !== null ? (
            <span>{operationText.left(duration(progress.etaMs))}</span>
          ) : null}
          {wish === null ? null : <span class="tone-warn">{operationText.wish[wish] ?? wish}</span>}
          {runner === null ? null : (
            <span class="muted">
              {operationText.runner} <Inert>{runner}</Inert>
            </span>
          )}
          {takeovers === 0 ? null : (
            <span class="tone-warn">
              {operationText.takenOver(takeovers)}, {operationText.mayRepeat(grouped(outcomes.mayBeRepeated))}
            </span>
          )}
        </p>
        {refused.length === 0 ? null : (
          <p>
            {operationText.refused}:{' '}
            {refused.map(([reason, count], at) => (
              <span key={reason} title={reason}>
                {at === 0 ? '' : ' · '}
                <Inert>{replayText.refusedOf(grouped(count), replayText.refusals[reason] ?? reason)}</Inert>
              </span>
            ))}
          </p>
        )}
        {hasOutcomes(operation) ? (
          <>
            <h3>{operationText.became}</h3>
            <OutcomeBar outcomes={outcomes} />
            <p class="muted small">{abortText(operation)}</p>
          </>
        ) : null}
      </div>
    </Section>
  )
}

function sentText({ type, progress: { sent } }: Operation, all: bigint | undefined): string {
  if (all === undefined) return operationText.sent(grouped(sent))
  const isPurge = type === 'PURGE' || type === 'OUTBOX_PURGE'
  return isPurge
    ? operationText.deletedOf(grouped(sent), grouped(all))
    : operationText.sentOf(grouped(sent), grouped(all))
}

function abortText(operation: Operation): string {
  const { settled, failed } = settledOf(operation)
  const rule = abortRuleOf(operation)
  if (settled === 0n) return operationText.noOutcomes
  const share = percent(Number(failed) / Number(settled))
  return rule === undefined
    ? operationText.noAbort
    : operationText.failedShare(share, percent(rule.failureRate), grouped(rule.minimum))
}

/** The one thing that may change while it runs. */
function RateField({
  operation: { id, rate },
  permit,
  onChanged,
}: {
  readonly operation: Operation
  readonly permit: Permit
  readonly onChanged: () => void
}): JSX.Element {
  const changing = useCommand('changeOperation')
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const value = Number(typed ?? rate)
  const isValid = Number.isFinite(value) && value >= 0.1 && value <= 10_000
  const send = async (): Promise<void> => {
    if (!isValid || (await changing.run({ params: { id }, body: { rate: value } })) === undefined) return
    setTyped(undefined)
    onChanged()
  }
  return (
    <form
      class="rate-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (permit.isAllowed) void send()
      }}
    >
      <input
        class="rate-input"
        inputMode="decimal"
        autocomplete="off"
        aria-label={operationText.rate}
        aria-invalid={!isValid}
        title={operationText.rate}
        disabled={!permit.isAllowed}
        value={typed ?? String(rate)}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />{' '}
      <span class="muted">/s</span>{' '}
      <ActionButton
        permit={permit}
        isBusy={changing.isRunning || !isValid || typed === undefined}
        onClick={() => void send()}
      >
        {operationText.setRate}
      </ActionButton>
      {changing.problem === undefined ? null : <ProblemView problem={changing.problem} />}
    </form>
  )
}
