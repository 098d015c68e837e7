import './replay.css'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import type { Problem } from '../../api/problem.ts'
import { grouped } from '../../format/number.ts'
import { useCommand } from '../../state/command.ts'
import { live } from '../../state/live.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, open } from '../../state/router.ts'
import { me } from '../../state/session.ts'
import { text } from '../../text/parts.ts'
import { replayText } from '../../text/replay.ts'
import { announce } from '../../view/announcer.tsx'
import { Inert } from '../../view/bytes-view.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ReasonField } from '../../view/reason-field.tsx'
import { isHandlerUnchanged } from './handler-unchanged.ts'
import { PlanView } from './plan-view.tsx'
import { CanaryField, PaceFields, WhereField } from './replay-fields.tsx'
import {
  bodyOf,
  formFor,
  goingOf,
  type PlanCounts,
  planKey,
  planOf,
  problemsOf,
  type Selection,
} from './replay-form.ts'
import { usePlan } from './use-plan.ts'

/**
 * Plans a replay while its fields change, and starts what was shown: the plan is made once more with all fields, and a plan
 * with other counts is shown again instead of being started.
 */
export function ReplayDialog({
  selection,
  onClose,
}: {
  readonly selection: Selection
  readonly onClose: () => void
}): JSX.Element {
  const [form, setForm] = useState(() => formFor(selection))
  const [remark, setRemark] = useState<string | undefined>(undefined)
  const planning = useCommand('createOperation')
  const starting = useCommand('startOperation')
  const set = (change: Partial<typeof form>): void => {
    setRemark(undefined)
    setForm({ ...form, ...change })
  }
  const problems = problemsOf(form)
  const body = problems.length === 0 ? bodyOf(selection, form) : undefined
  const [shownKey, setShownKey] = useState(() => planKey(bodyOf(selection, form)))
  if (body !== undefined && planKey(body) !== shownKey) setShownKey(planKey(body))
  const plan = usePlan(body, shownKey)
  const counts = plan.operation === undefined ? undefined : planOf(plan.operation)
  const tiers = useTiers(selection.binding)
  const isReasonRequired = me.value?.requireReason !== 'NEVER'
  const isBusy = planning.isRunning || starting.isRunning
  const off = offBecause(counts, plan.isPlanning, isReasonRequired && form.reason.trim() === '')
  const send = async (): Promise<void> => {
    if (body === undefined || isBusy) return
    if (off !== undefined) return setRemark(off)
    const planned = await planning.run({ query: { dryRun: true }, body })
    if (planned === undefined) return
    if (!isSamePlan(counts, planOf(planned))) {
      plan.take(planned)
      return setRemark(replayText.changed)
    }
    if ((await starting.run({ params: { id: planned.id } })) === undefined) return
    announce(replayText.started)
    open(hrefOf(['operations', planned.id]))
  }
  const binding = live.items.binding.value?.get(selection.binding)
  const problem: Problem | undefined = planning.problem ?? starting.problem
  return (
    <Dialog title={replayText.title(selection.binding)} onClose={onClose} isWide>
      <form
        method="dialog"
        class="replay-form"
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <div class="field">
          <span class="field-name">{replayText.which}</span>
          <span>
            <Inert>{selection.label.slice(0, 200)}</Inert> <span class="muted">{replayText.frozen}</span>
          </span>
        </div>
        <div class="field">
          <span class="field-name">{replayText.plan}</span>
          <PlanView plan={plan} counts={counts} />
        </div>
        <WhereField form={form} set={set} tiers={tiers} />
        <CanaryField form={form} problems={problems} set={set} />
        <PaceFields form={form} problems={problems} set={set} eligible={counts?.eligible} />
        <ReasonField
          value={form.reason}
          isRequired={isReasonRequired}
          isFocused
          onInput={(reason) => set({ reason })}
        />
        {binding === undefined || binding.state === 'RUNNING' ? null : (
          <p class="tone-warn">▲ {replayText.notRunning(binding.state)}</p>
        )}
        {isHandlerUnchanged(
          [...(live.items.instance.value?.values() ?? [])],
          selection.binding,
          selection.lastDiedAt,
        ) ? (
          <p class="tone-warn">▲ {replayText.handlerUnchanged}</p>
        ) : null}
        {problem === undefined ? null : <ProblemView problem={problem} />}
        {remark === undefined ? null : (
          <p class="tone-warn" role="alert">
            ▲ {remark}
          </p>
        )}
        <div class="dialog-actions">
          {body === undefined ? null : <CopyCurl route="createOperation" request={{ body }} />}
          <button type="button" onClick={onClose}>
            {text.cancel}
          </button>
          <button
            type="submit"
            class="primary"
            aria-disabled={off !== undefined || body === undefined || isBusy}
            title={off}
          >
            {sendLabel(counts, form)}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** The button says what it does, with the number. */
function sendLabel(
  counts: PlanCounts | undefined,
  form: { readonly firstCount: string; readonly limit: string },
): string {
  if (counts?.eligible === undefined) return replayText.send('…')
  const going = goingOf(counts.eligible, form.limit)
  const first = BigInt(/^\d+$/.test(form.firstCount.trim()) ? form.firstCount.trim() : '0')
  return first > 0n && first < going ? replayText.sendFirst(grouped(first)) : replayText.send(grouped(going))
}

function offBecause(counts: PlanCounts | undefined, isPlanning: boolean, lacksReason: boolean): string | undefined {
  if (counts?.eligible === undefined || isPlanning) return replayText.missing.plan
  if (counts.eligible === 0n) return replayText.missing.none
  return lacksReason ? replayText.missing.reason : undefined
}

function isSamePlan(one: PlanCounts | undefined, other: PlanCounts): boolean {
  return one !== undefined && planText(one) === planText(other)
}

function planText({ eligible, refused, topics }: PlanCounts): string {
  const sorted = refused.toSorted(([left], [right]) => left.localeCompare(right))
  return JSON.stringify([String(eligible), sorted, topics])
}

function useTiers(binding: string): readonly { readonly tier: number | null; readonly delayMs: number | null }[] {
  const pipeline = useResource((signal) => call('getPipeline', { params: { name: binding } }, { signal }), [binding], {
    everyMs: 0,
  })
  return (pipeline.value?.stages ?? []).filter(({ tier, kind }) => kind === 'TIER' && tier !== null)
}
