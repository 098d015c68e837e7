import './replay.css'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { grouped } from '../../format/number.ts'
import { useCommand } from '../../state/command.ts'
import { hrefOf, open } from '../../state/router.ts'
import { purgeText } from '../../text/replay.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { DangerDialog } from '../../view/danger-dialog.tsx'
import { Field } from '../../view/dialog.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { Loading } from '../../view/resource-view.tsx'
import { TypedName } from '../../view/typed-name.tsx'
import { purgePlanOf } from './purge-plan.ts'
import { usePlan } from './use-plan.ts'

/** Deletes dead letters by age, after the name of their topic was typed. Nothing is sent by Enter. */
export function PurgeDialog({
  binding,
  onClose,
}: {
  readonly binding: string
  readonly onClose: () => void
}): JSX.Element {
  const [olderThan, setOlderThan] = useState('P30D')
  const [others, setOthers] = useState(false)
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const planning = useCommand('createOperation')
  const starting = useCommand('startOperation')
  const body = {
    type: 'PURGE' as const,
    binding,
    olderThan,
    ...(others ? { includeOtherGroups: true } : {}),
    ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
  }
  const plan = usePlan(body, JSON.stringify([binding, olderThan, others]))
  const counts = plan.operation === undefined ? undefined : purgePlanOf(plan.operation)
  const name = counts?.topics[0] ?? ''
  const off =
    counts === undefined || plan.isPlanning
      ? purgeText.missing.plan
      : counts.eligible === 0n
        ? purgeText.missing.none
        : typed !== name
          ? purgeText.missing.name
          : undefined
  const send = async (): Promise<void> => {
    const planned = await planning.run({ query: { dryRun: true }, body })
    if (planned === undefined) return
    plan.take(planned)
    // An age moves: what became old enough meanwhile is looked at first.
    if (purgePlanOf(planned).eligible !== counts?.eligible) return
    if ((await starting.run({ params: { id: planned.id } })) !== undefined) open(hrefOf(['operations', planned.id]))
  }
  return (
    <DangerDialog
      title={purgeText.title(binding)}
      reason={reason}
      isReasonRequired
      onReason={setReason}
      curl={<CopyCurl route="createOperation" request={{ body }} />}
      send={{
        label: purgeText.send(counts === undefined ? '…' : grouped(counts.eligible)),
        off,
        isRunning: planning.isRunning || starting.isRunning,
        run: send,
      }}
      problem={planning.problem ?? starting.problem}
      onClose={onClose}
    >
      <p>{purgeText.about}</p>
      <Field label={purgeText.older}>
        {(id) => (
          <select id={id} value={olderThan} onChange={(event) => setOlderThan(event.currentTarget.value)}>
            {Object.entries(purgeText.ages).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <label class="check">
        <input type="checkbox" checked={others} onChange={(event) => setOthers(event.currentTarget.checked)} />{' '}
        {purgeText.others}
      </label>
      <div class="field">
        <span class="field-name">{purgeText.plan}</span>
        {plan.problem !== undefined ? (
          <ProblemView problem={plan.problem} onRetry={plan.retry} />
        ) : counts === undefined ? (
          <Loading rows={1} />
        ) : (
          <PurgeCounts operation={plan.operation} isOld={plan.isPlanning} />
        )}
      </div>
      {name === '' ? null : <TypedName label={purgeText.type(name)} value={typed} onInput={setTyped} />}
    </DangerDialog>
  )
}

function PurgeCounts({
  operation,
  isOld,
}: {
  readonly operation: Schemas['Operation'] | undefined
  readonly isOld: boolean
}): JSX.Element | null {
  if (operation === undefined) return null
  const { eligible, notReplayed, byGroup } = purgePlanOf(operation)
  if (eligible === 0n) return <p role="status">{purgeText.none}</p>
  return (
    <div class={isOld ? 'stale' : undefined} role="status">
      <p>
        <strong class="tone-bad">{purgeText.planned(grouped(eligible))}</strong>
      </p>
      {notReplayed === 0n ? null : <p class="tone-warn">▲ {purgeText.notReplayed(grouped(notReplayed))}</p>}
      {byGroup.length < 2 ? null : (
        <ul>
          {byGroup.map(({ group, count }) => (
            <li key={group}>
              <span class="figure">{grouped(count)}</span> <Inert>{purgeText.ofGroup(group)}</Inert>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
