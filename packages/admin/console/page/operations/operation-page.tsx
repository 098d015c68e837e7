import './operations.css'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { useCommand } from '../../state/command.ts'
import { useKeys } from '../../state/keys.ts'
import { live } from '../../state/live.ts'
import { wordParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, open, urlState } from '../../state/router.ts'
import { may, me, type Permit } from '../../state/session.ts'
import { operationText } from '../../text/operations.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { announce } from '../../view/announcer.tsx'
import { Inert } from '../../view/bytes-view.tsx'
import { CopyButton, CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Time } from '../../view/figures.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import type { PageProps } from '../pages.ts'
import { CancelDialog } from './cancel-dialog.tsx'
import { firstItems, ItemTable, itemKinds } from './item-table.tsx'
import { isOver, subjectOf } from './operation-facts.ts'
import { OperationNotice } from './operation-notice.tsx'
import { OperationProgress } from './operation-progress.tsx'
import { OperationSettings } from './operation-settings.tsx'
import { OperationTimeline } from './operation-timeline.tsx'

type Operation = Schemas['Operation']

const params = { items: wordParam(['', ...itemKinds], '') }

/** One operation: its plan, its progress, and what became of its records. */
export default function OperationPage({ params: { id = '' } }: PageProps): JSX.Element {
  const url = urlState(params)
  const operation = useResource((signal) => call('getOperation', { params: { id } }, { signal }), [id], {
    everyMs: 1_000,
  })
  const pausing = useCommand('pauseOperation')
  const resuming = useCommand('resumeOperation')
  const starting = useCommand('startOperation')
  const [isCancelling, setCancelling] = useState(false)
  const { value } = operation
  useFollowed(id, value, operation.reload)
  const act = async (run: typeof pausing.run): Promise<void> => {
    if ((await run({ params: { id } })) !== undefined) operation.reload()
  }
  const toggle = (): void => {
    if (value === undefined || !mayControl(value).isAllowed) return
    if (value.state === 'RUNNING') void act(pausing.run)
    else if (value.state === 'PAUSED') void act(resuming.run)
  }
  useKeys(operationText.keysTitle, [
    { keys: 'p', label: operationText.keys.pause, run: toggle },
    { keys: 'Escape', label: operationText.keys.back, run: () => open(hrefOf(['operations'])) },
  ])
  if (operation.problem?.status === 404) return <Gone id={id} />
  const problem = pausing.problem ?? resuming.problem ?? starting.problem
  return (
    <>
      <PageHead
        title={value === undefined ? id : operationText.title(value.type, subjectOf(value))}
        after={
          value === undefined ? null : (
            <StateChip state={value.state} of="OPERATION">
              {value.pausedBy === null ? undefined : `by ${value.pausedBy}`}
            </StateChip>
          )
        }
        actions={
          value === undefined || isOver(value) ? (
            <CopyCurl route="getOperation" request={{ params: { id } }} />
          ) : (
            <>
              {value.state === 'PLANNED' ? (
                <ActionButton kind="primary" permit={mayControl(value)} onClick={() => void act(starting.run)}>
                  {operationText.start}
                </ActionButton>
              ) : null}
              {value.state === 'RUNNING' ? (
                <ActionButton
                  permit={mayControl(value)}
                  isBusy={pausing.isRunning || value.wish !== null}
                  onClick={() => void act(pausing.run)}
                >
                  {operationText.pause}
                </ActionButton>
              ) : null}
              {value.state === 'PAUSED' ? (
                <ActionButton
                  kind="primary"
                  permit={mayControl(value)}
                  isBusy={resuming.isRunning}
                  onClick={() => void act(resuming.run)}
                >
                  {operationText.resume}
                </ActionButton>
              ) : null}
              <ActionButton kind="danger" permit={mayControl(value)} onClick={() => setCancelling(true)}>
                {operationText.cancel}
              </ActionButton>
              <CopyCurl route="getOperation" request={{ params: { id } }} />
            </>
          )
        }
      >
        {value === undefined ? '\u00a0' : <Facts operation={value} />}
      </PageHead>
      {problem === undefined ? null : <ProblemView problem={problem} />}
      <ResourceView resource={operation} rows={6}>
        {(shown) => (
          <>
            <OperationNotice operation={shown} />
            <OperationProgress operation={shown} permit={mayControl(shown)} onChanged={operation.reload} />
            <div class="operation-parts">
              <ItemTable
                operation={shown}
                kind={url.value.items === '' ? firstItems(shown) : url.value.items}
                hrefOf={(items) => url.href({ items })}
              />
              <div>
                <OperationTimeline operation={shown} />
                <OperationSettings operation={shown} />
              </div>
            </div>
          </>
        )}
      </ResourceView>
      {isCancelling ? <CancelDialog id={id} onClose={() => setCancelling(false)} onDone={operation.reload} /> : null}
    </>
  )
}

/** One's own operations may be controlled always. */
function mayControl(operation: Operation): Permit {
  return operation.by === me.value?.by ? { isAllowed: true } : may('operations:control', subjectOf(operation))
}

function Facts({
  operation: { id, by, reason, startedAt, createdAt, durable },
}: {
  readonly operation: Operation
}): JSX.Element {
  return (
    <>
      <span>
        <code>{id}</code> <CopyButton text={id} label={operationText.copyId} />
      </span>
      <span>
        {operationText.by} <Inert>{by.slice(0, 100)}</Inert> <Time at={startedAt ?? createdAt} isRelative />
      </span>
      {reason === null ? null : (
        <span class="reason">
          “<Inert>{reason}</Inert>”
        </span>
      )}
      {durable ? null : <span class="muted">{operationText.memory}</span>}
    </>
  )
}

/** Reads again when the stream says that it changed, and says a new state aloud. */
function useFollowed(id: string, operation: Operation | undefined, reload: () => void): void {
  const streamed = live.items.operation.value?.get(id)
  const state = operation?.state
  const said = useRef(state)
  useEffect(() => {
    if (streamed !== undefined && state !== undefined && streamed.state !== state) reload()
  }, [streamed?.state])
  useEffect(() => {
    if (said.current !== undefined && state !== undefined && said.current !== state)
      announce(operationText.changed(operation?.type ?? '', state))
    said.current = state
  }, [state])
}

function Gone({ id }: { readonly id: string }): JSX.Element {
  return (
    <>
      <PageHead title={id.slice(0, 60)} />
      <Empty title={operationText.gone}>
        <p>{operationText.goneHint}</p>
        <a href={hrefOf(['operations'])}>{operationText.toList}</a>
      </Empty>
    </>
  )
}
