import type { JSX } from 'preact'
import { grouped, size } from '../../format/number.ts'
import { replayText } from '../../text/replay.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { Loading } from '../../view/resource-view.tsx'
import type { PlanCounts } from './replay-form.ts'
import type { Plan } from './use-plan.ts'

/** The counts of a plan: how many can go, and why others cannot. */
export function PlanView({
  plan,
  counts,
}: {
  readonly plan: Plan
  readonly counts: PlanCounts | undefined
}): JSX.Element {
  if (plan.problem !== undefined) return <ProblemView problem={plan.problem} onRetry={plan.retry} />
  if (counts?.eligible === undefined) return <Loading rows={1} />
  const { eligible, refused, keys, largestKeyRecords, bytes, topics } = counts
  return (
    <div class={`plan${plan.isPlanning ? ' stale' : ''}`} role="status" aria-busy={plan.isPlanning}>
      <p>
        <strong class={eligible === 0n ? 'tone-bad' : 'tone-ok'}>{replayText.canGo(grouped(eligible))}</strong>
        {refused.map(([reason, count]) => (
          <span key={reason} title={reason}>
            {' · '}
            <Inert>{replayText.refusedOf(grouped(count), replayText.refusals[reason] ?? reason)}</Inert>
          </span>
        ))}
      </p>
      {refused.length === 0 ? null : <p class="muted small">{replayText.showRefused}</p>}
      {eligible === 0n ? null : (
        <p class="muted small">
          {replayText.facts(grouped(keys ?? '0'), size(bytes ?? 0))}
          {Number(largestKeyRecords ?? '0') > 1 ? replayText.largestKey(grouped(largestKeyRecords ?? '0')) : null}
          {topics.length === 0 ? null : replayText.toTopics(topics.join(', '))}
        </p>
      )}
    </div>
  )
}
