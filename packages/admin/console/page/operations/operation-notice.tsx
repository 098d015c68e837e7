import type { ComponentChildren, JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { grouped, percent } from '../../format/number.ts'
import { lookOf, type Tone } from '../../format/state-look.ts'
import { hrefOf } from '../../state/router.ts'
import { operationText } from '../../text/operations.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { Ago } from '../../view/figures.tsx'
import { Glyph } from '../../view/state-chip.tsx'
import { allOf, isPlan, settledOf } from './operation-facts.ts'

type Operation = Schemas['Operation']

/** Shows notices and decisions that are due. */
export function OperationNotice({ operation }: { readonly operation: Operation }): JSX.Element | null {
  const { state, pausedBy, trouble } = operation
  if (trouble !== null)
    return (
      <Notice tone="warn" glyph="▲" title={operationText.trouble}>
        <Inert>{trouble.message}</Inert>
      </Notice>
    )
  if (state === 'PLANNED') return <PlannedNotice operation={operation} />
  if (state === 'PAUSED') {
    if (pausedBy === 'CANARY') return <CanaryNotice operation={operation} />
    if (pausedBy === 'ABORT_RULE') return <AbortNotice operation={operation} />
    return (
      <Notice tone="calm" glyph="‖" title={operationText.paused.title}>
        {operationText.paused.text}
      </Notice>
    )
  }
  return state === 'RUNNING' ? null : <EndNotice operation={operation} />
}

function PlannedNotice({ operation }: { readonly operation: Operation }): JSX.Element {
  const all = allOf(operation)
  return (
    <Notice tone="calm" glyph="◇" title={operationText.planned.title}>
      {all === undefined ? null : `${operationText.planned.can(grouped(all))} `}
      {operationText.planned.expires} <Ago at={operation.expiresAt} />.
    </Notice>
  )
}

function CanaryNotice({ operation }: { readonly operation: Operation }): JSX.Element {
  const { sent } = operation.progress
  const all = allOf(operation)
  const rest = all === undefined ? undefined : all - BigInt(sent)
  const { canary } = operationText
  const isGood = operation.outcomes.succeeded === sent
  return (
    <Notice tone={isGood ? 'ok' : 'warn'} glyph={isGood ? '●' : '▲'} title={canary.title(grouped(sent))}>
      {canary.text(grouped(operation.outcomes.succeeded), grouped(sent))}{' '}
      {rest === undefined || rest <= 0n ? null : canary.next(grouped(rest))}
    </Notice>
  )
}

function AbortNotice({ operation }: { readonly operation: Operation }): JSX.Element {
  const { settled, failed } = settledOf(operation)
  const { abort } = operationText
  const share = settled === 0n ? '–' : percent(Number(failed) / Number(settled))
  return (
    <Notice tone="bad" glyph="⊘" title={abort.title}>
      {abort.text(grouped(failed), grouped(settled), share)} {abort.next}{' '}
      <FailuresLink operation={operation}>{abort.look}</FailuresLink>
    </Notice>
  )
}

function EndNotice({ operation }: { readonly operation: Operation }): JSX.Element {
  const { state, outcomes, takeovers } = operation
  const { tone, glyph } = lookOf(state, 'OPERATION')
  const { done } = operationText
  const title = isPlan(operation) ? done.EXPIRED : ((done as Readonly<Record<string, string>>)[state] ?? state)
  const isRepeated = takeovers > 0 || outcomes.mayBeRepeated !== '0'
  return (
    <Notice tone={tone} glyph={glyph} title={title}>
      {isRepeated ? `${operationText.mayRepeat(grouped(outcomes.mayBeRepeated))}. ` : null}
      {outcomes.failedAgain === '0' ? null : <FailuresLink operation={operation}>{operationText.again}</FailuresLink>}
    </Notice>
  )
}

function FailuresLink({
  operation: { binding, startedAt, createdAt },
  children,
}: {
  readonly operation: Operation
  readonly children: string
}): JSX.Element | null {
  if (binding === null) return null
  return <a href={hrefOf(['failures'], { binding, since: startedAt ?? createdAt })}>{children}</a>
}

function Notice({
  tone,
  glyph,
  title,
  children,
}: {
  readonly tone: Tone
  readonly glyph: string
  readonly title: string
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div class={`notice notice-${tone}`}>
      <p>
        <Glyph tone={tone}>{glyph}</Glyph> <strong>{title}</strong>
      </p>
      <p class="notice-text">{children}</p>
    </div>
  )
}
