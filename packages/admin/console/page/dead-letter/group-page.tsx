import './dead-letter.css'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { grouped } from '../../format/number.ts'
import { useKeys } from '../../state/keys.ts'
import { textParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, urlState } from '../../state/router.ts'
import { may, type Permit } from '../../state/session.ts'
import { letterText } from '../../text/dead-letter.ts'
import { failuresText } from '../../text/failures.ts'
import { text } from '../../text/parts.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { Inert, ShortBytes } from '../../view/bytes-view.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Time } from '../../view/figures.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { focusedRowKey } from '../../view/table.tsx'
import { filterParams, queryOf, selectionOf } from '../failures/failure-filter.ts'
import { FilterBar } from '../failures/filter-bar.tsx'
import { ReplayDialog } from '../failures/replay-dialog.tsx'
import type { Selection } from '../failures/replay-form.ts'
import { TriageDialog } from '../failures/triage-dialog.tsx'
import type { PageProps } from '../pages.ts'
import { LetterTable } from './letter-table.tsx'

type Group = Schemas['FailureGroup']

const params = { ...filterParams, cursor: textParam() }
const pageSize = 100

/** The dead letters of a failure group. */
export default function GroupPage({ params: { group: id = '' } }: PageProps): JSX.Element {
  const url = urlState(params)
  const { cursor, ...filter } = url.value
  const [asked, ask] = useState<Selection | 'TRIAGE' | undefined>(undefined)
  const [selected, select] = useState<ReadonlySet<string>>(new Set())
  const group = useResource((signal) => call('getFailureGroup', { params: { group: id } }, { signal }), [id])
  const query = { ...queryOf(filter), group: id, limit: pageSize, ...(cursor === '' ? {} : { cursor }) }
  const letters = useResource(
    (signal) => call('listDeadLetters', { query }, { signal }),
    [JSON.stringify(query)],
    // A further page shows what it was asked for; the first one follows what comes.
    { everyMs: cursor === '' ? 5_000 : 0 },
  )
  const toggle = (one: string): void => {
    const next = new Set(selected)
    if (!next.delete(one)) next.add(one)
    select(next)
  }
  const binding = filter.binding === '' ? (group.value?.binding ?? undefined) : filter.binding
  const total = letters.value?.total
  const selection = selectionFor(group.value, binding, selected, { ...selectionOf(filter), group: id })
  const permit: Permit =
    binding === undefined ? { isAllowed: false, because: failuresText.noBinding } : may('dlt:replay', binding)
  const next = letters.value?.next ?? undefined
  useKeys(letterText.keysTitle, [
    {
      keys: 'x',
      label: letterText.keys.select,
      run: () => {
        const row = focusedRowKey()
        if (row !== undefined) toggle(row)
      },
    },
    {
      keys: 'r',
      label: letterText.keys.replay,
      run: () => {
        if (permit.isAllowed && selection !== undefined) ask(selection)
      },
    },
    {
      keys: 'n',
      label: letterText.keys.triage,
      run: () => {
        if (group.value !== undefined && may('dlt:triage', binding).isAllowed) ask('TRIAGE')
      },
    },
    {
      keys: ']',
      label: text.more,
      run: () => {
        if (next !== undefined) url.set({ cursor: next }, 'PUSH')
      },
    },
    { keys: '[', label: letterText.first, run: () => url.set({ cursor: '' }, 'PUSH') },
  ])
  if (group.problem?.status === 404) return <GoneGroup id={id} />
  return (
    <>
      <PageHead
        title={titleOf(group.value)}
        after={group.value === undefined ? null : <StateChip state={group.value.state} />}
        actions={
          <>
            <ActionButton
              kind="primary"
              permit={total?.count === '0' ? { isAllowed: false, because: failuresText.nothingToReplay } : permit}
              onClick={() => ask(selection)}
            >
              {selected.size > 0
                ? letterText.replaySelected(grouped(selected.size))
                : letterText.replayMatching(total === undefined ? '…' : grouped(total.count))}
            </ActionButton>
            <ActionButton permit={may('dlt:triage', binding)} onClick={() => ask('TRIAGE')}>
              {letterText.triage}
            </ActionButton>
            <CopyCurl route="listDeadLetters" request={{ query }} />
          </>
        }
      >
        {group.value === undefined ? '\u00a0' : <GroupFacts group={group.value} />}
      </PageHead>
      {group.problem === undefined ? null : <ProblemView problem={group.problem} onRetry={group.reload} />}
      <FilterBar filter={filter} url={{ set: (state, how) => url.set({ ...state, cursor: '' }, how) }} />
      <ResourceView resource={letters} rows={6}>
        {({ items }) => (
          <LetterTable
            letters={items}
            selected={selected}
            onSelect={toggle}
            empty={
              <Empty title={letterText.noLetters}>
                {filter.state === 'OPEN' ? (
                  <button type="button" onClick={() => url.set({ state: 'ANY', cursor: '' }, 'PUSH')}>
                    {failuresText.showAll}
                  </button>
                ) : null}
              </Empty>
            }
            more={
              next === undefined && cursor === '' ? undefined : (
                <span class="inline-fields">
                  {cursor === '' ? null : (
                    <button type="button" onClick={() => url.set({ cursor: '' }, 'PUSH')}>
                      {letterText.first}
                    </button>
                  )}
                  {next === undefined ? null : (
                    <button type="button" onClick={() => url.set({ cursor: next }, 'PUSH')}>
                      {text.more}
                    </button>
                  )}
                </span>
              )
            }
          />
        )}
      </ResourceView>
      {asked === 'TRIAGE' && group.value !== undefined ? (
        <TriageDialog group={group.value} onClose={() => ask(undefined)} onSaved={group.reload} />
      ) : null}
      {asked === undefined || asked === 'TRIAGE' ? null : (
        <ReplayDialog selection={asked} onClose={() => ask(undefined)} />
      )}
    </>
  )
}

function GroupFacts({ group }: { readonly group: Group }): JSX.Element {
  const { message, frame, event, binding, note, by, count, replayed, failedAgain, firstAt, lastAt } = group
  return (
    <>
      <span class="group-line">
        <ShortBytes value={message} max={300} />
      </span>
      <span class="group-line">
        {binding === null ? failuresText.noBinding : <a href={hrefOf(['bindings', binding])}>{binding}</a>} ·{' '}
        <Inert>{(event ?? failuresText.noEvent).slice(0, 120)}</Inert> ·{' '}
        <Inert>{(frame ?? failuresText.noFrame).slice(0, 200)}</Inert>
      </span>
      <span class="group-line">
        {letterText.inAll(grouped(count))} · {letterText.replayedOf(grouped(replayed))} ·{' '}
        {letterText.failedAgainOf(grouped(failedAgain))} · <Time at={firstAt} /> – <Time at={lastAt} isRelative />
      </span>
      {note === null ? null : (
        <span class="group-line">
          {failuresText.note(by)}:{' '}
          <span class="note-text">
            <Inert>{note}</Inert>
          </span>
        </span>
      )}
    </>
  )
}

function GoneGroup({ id }: { readonly id: string }): JSX.Element {
  return (
    <>
      <PageHead title={`${failuresText.columns.group} ${id.slice(0, 40)}`} />
      <Empty title={letterText.goneGroup}>
        <p>{letterText.goneGroupHint}</p>
        <a href={hrefOf(['failures'])}>{letterText.toFailures}</a>
      </Empty>
    </>
  )
}

function titleOf(group: Group | undefined): string {
  return group === undefined ? failuresText.columns.group : group.exception.slice(0, 120)
}

function selectionFor(
  group: Group | undefined,
  binding: string | undefined,
  selected: ReadonlySet<string>,
  filter: Selection['filter'],
): Selection | undefined {
  if (group === undefined || binding === undefined) return undefined
  const said = group.message !== null && 'text' in group.message ? ` ${group.message.text.slice(0, 100)}` : ''
  if (selected.size === 0)
    return { binding, label: `${group.exception.slice(0, 100)}${said}`, filter, lastDiedAt: group.lastAt }
  return { binding, label: letterText.selected(selected.size), ids: [...selected].slice(0, 1_000) }
}
