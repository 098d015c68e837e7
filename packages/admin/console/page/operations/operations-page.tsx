import './operations.css'
import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { grouped } from '../../format/number.ts'
import { live } from '../../state/live.ts'
import { textParam, wordParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, urlState } from '../../state/router.ts'
import { me } from '../../state/session.ts'
import { operationsText } from '../../text/operations.ts'
import { text } from '../../text/parts.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Time } from '../../view/figures.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { type Column, Table } from '../../view/table.tsx'
import { allOf, hasOutcomes, isPlan, subjectOf } from './operation-facts.ts'
import { OutcomeBar } from './outcome-bar.tsx'

type Operation = Schemas['Operation']

const states = ['', 'PLANNED', 'RUNNING', 'PAUSED', 'DONE', 'FAILED', 'CANCELLED'] as const
const types = [
  '',
  'REPLAY',
  'REPLAY_TO_TIER',
  'RELEASE',
  'PURGE',
  'EDIT_REPLAY',
  'OUTBOX_REPLAY',
  'OUTBOX_PURGE',
  'PROJECTION_REBUILD',
  'INDEX_REBUILD',
] as const
const params = {
  state: wordParam(states, ''),
  type: wordParam(types, ''),
  by: textParam(),
  binding: textParam(),
  cursor: textParam(),
}
const pageSize = 50
const { columns: titles } = operationsText

/** Work on many records: what runs, what was done, and what became of it. */
export default function OperationsPage(): JSX.Element {
  const url = urlState(params)
  const { state, type, by, binding, cursor } = url.value
  const query = {
    ...(state === '' ? {} : { state: [state] }),
    ...(type === '' ? {} : { type: [type] }),
    ...(by === '' ? {} : { by }),
    ...(binding === '' ? {} : { binding }),
    ...(cursor === '' ? {} : { cursor }),
    limit: pageSize,
  }
  const list = useResource((signal) => call('listOperations', { query }, { signal }), [JSON.stringify(query)])
  const current = live.items.operation.value
  // The stream is newer than the list; texts of records are in the list alone.
  const items = (list.value?.items ?? []).map((one) => ({ ...one, ...current?.get(one.id), request: one.request }))
  // Each dialog makes a plan when it is opened: those that were never started are shown on demand.
  const shown = state === '' ? items.filter((one) => !isPlan(one)) : items
  const isFiltered = state !== '' || type !== '' || by !== '' || binding !== ''
  const next = list.value?.next ?? undefined
  return (
    <>
      <PageHead title={operationsText.title} actions={<CopyCurl route="listOperations" request={{ query }} />} />
      <div class="operation-filter" role="search" aria-label={operationsText.title}>
        <select
          aria-label={operationsText.state}
          value={state}
          onChange={(event) => url.set({ state: event.currentTarget.value as typeof state, cursor: '' }, 'PUSH')}
        >
          {states.map((one) => (
            <option key={one} value={one}>
              {one === '' ? operationsText.anyState : one}
            </option>
          ))}
        </select>
        <select
          aria-label={operationsText.type}
          value={type}
          onChange={(event) => url.set({ type: event.currentTarget.value as typeof type, cursor: '' }, 'PUSH')}
        >
          {types.map((one) => (
            <option key={one} value={one}>
              {one === '' ? operationsText.anyType : one}
            </option>
          ))}
        </select>
        <select
          aria-label={operationsText.by}
          value={by}
          onChange={(event) => url.set({ by: event.currentTarget.value, cursor: '' }, 'PUSH')}
        >
          <option value="">{operationsText.everyone}</option>
          {[...new Set([me.value?.by ?? '', by])]
            .filter((one) => one !== '')
            .map((one) => (
              <option key={one} value={one}>
                {one === me.value?.by ? operationsText.mine : one}
              </option>
            ))}
        </select>
      </div>
      <ResourceView resource={list} rows={6}>
        {() => (
          <Table
            caption={operationsText.title}
            hasKeys
            rows={shown}
            keyOf={({ id }) => id}
            columns={columns}
            empty={
              isFiltered ? (
                <Empty title={operationsText.noMatch} />
              ) : (
                <Empty title={operationsText.empty}>
                  <p>{operationsText.emptyHint}</p>
                  <p>
                    <a href={hrefOf(['failures'])}>{operationsText.emptyNext}</a>
                  </p>
                </Empty>
              )
            }
            more={
              next === undefined ? undefined : (
                <button type="button" onClick={() => url.set({ cursor: next }, 'PUSH')}>
                  {text.more}
                </button>
              )
            }
          />
        )}
      </ResourceView>
    </>
  )
}

const columns: readonly Column<Operation>[] = [
  {
    id: 'operation',
    title: titles.operation,
    cell: ({ id, type, reason }) => (
      <>
        <a href={hrefOf(['operations', id])}>
          {type} <code>{id.slice(0, 13)}</code>
        </a>
        {reason === null ? null : (
          <div class="row-sub" title={reason.slice(0, 500)}>
            <Inert>{reason.slice(0, 200)}</Inert>
          </div>
        )}
      </>
    ),
  },
  { id: 'on', title: titles.on, cell: (one) => subjectOf(one) },
  {
    id: 'state',
    title: titles.state,
    cell: ({ state, pausedBy }) => (
      <StateChip state={state} of="OPERATION">
        {pausedBy === null ? undefined : `by ${pausedBy}`}
      </StateChip>
    ),
  },
  { id: 'progress', title: titles.progress, cell: (one) => <Progress operation={one} /> },
  {
    id: 'outcomes',
    title: titles.outcomes,
    cell: (one) =>
      hasOutcomes(one) && one.progress.sent !== '0' ? (
        <OutcomeBar outcomes={one.outcomes} isShort />
      ) : (
        <span class="unknown">–</span>
      ),
  },
  {
    id: 'by',
    title: titles.by,
    cell: ({ by }) => <Inert>{by.slice(0, 60)}</Inert>,
  },
  { id: 'at', title: titles.at, cell: ({ startedAt, createdAt }) => <Time at={startedAt ?? createdAt} isRelative /> },
]

function Progress({ operation }: { readonly operation: Operation }): JSX.Element {
  const all = allOf(operation)
  const { sent } = operation.progress
  return (
    <span class="progress-line">
      {all === undefined ? null : (
        <progress max={Math.max(1, Number(all))} value={Number(sent)} aria-label={operationsText.columns.progress} />
      )}
      <span class="figure">
        {grouped(sent)}
        {all === undefined ? '' : ` / ${grouped(all)}`}
      </span>
    </span>
  )
}
