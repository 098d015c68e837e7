import './failures.css'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { countOf, grouped } from '../../format/number.ts'
import { instantMs } from '../../format/time.ts'
import { now, seconds } from '../../state/clock.ts'
import { useKeys } from '../../state/keys.ts'
import { textParam, wordParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { place, urlState } from '../../state/router.ts'
import { may, type Permit } from '../../state/session.ts'
import { failuresText } from '../../text/failures.ts'
import { text } from '../../text/parts.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { announce } from '../../view/announcer.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { FacetPanel } from './facet-panel.tsx'
import { type FailureFilter, filterParams, isFiltered, queryOf, selectionOf } from './failure-filter.ts'
import { FilterBar } from './filter-bar.tsx'
import { GroupTable } from './group-table.tsx'
import { PurgeDialog } from './purge-dialog.tsx'
import { ReplayDialog } from './replay-dialog.tsx'
import type { Selection } from './replay-form.ts'
import { useScan } from './scan.ts'
import { ScanPanel } from './scan-panel.tsx'
import { SourceLine } from './source-line.tsx'
import { TriageDialog } from './triage-dialog.tsx'

type Group = Schemas['FailureGroup']

const params = {
  ...filterParams,
  sort: wordParam(['count', 'last', 'first'], 'count'),
  closed: wordParam(['', 'shown'], ''),
  mode: wordParam(['', 'scan'], ''),
  facets: wordParam(['', 'off'], ''),
  cursor: textParam(),
}

type Asked =
  | { readonly kind: 'REPLAY'; readonly selection: Selection }
  | { readonly kind: 'TRIAGE'; readonly group: Group }
  | { readonly kind: 'PURGE'; readonly binding: string }

const pageSize = 100
const announceEveryMs = 10_000

/** Failures: dead letters by their causes. */
export default function FailuresPage(): JSX.Element {
  const url = urlState(params)
  const { sort, closed, mode, facets, cursor, ...filter } = url.value
  const [asked, ask] = useState<Asked | undefined>(undefined)
  const filterUrl = { set: (state: object, how?: 'PUSH' | 'REPLACE') => url.set({ ...state, cursor: '' }, how) }
  const isScan = mode === 'scan'
  const scan = useScan(filter, isScan)
  const query = { ...queryOf(filter), sort, limit: pageSize, ...(cursor === '' ? {} : { cursor }) }
  const groups = useResource(
    (signal) => (isScan ? Promise.resolve(undefined) : call('listFailureGroups', { query }, { signal })),
    [JSON.stringify(query), isScan],
    { everyMs: isScan ? 0 : 5_000 },
  )
  const letters = useResource(
    (signal) => call('listDeadLetters', { query: { ...queryOf(filter), limit: 1 } }, { signal }),
    [JSON.stringify(filter)],
  )
  const total = letters.value?.total
  useAnnounced(total?.count, JSON.stringify(filter))
  useKeys(failuresText.title, [
    { keys: 'e', label: failuresText.keys.expand, run: () => url.set({ facets: facets === 'off' ? '' : 'off' }) },
    {
      keys: ']',
      label: text.more,
      run: () => {
        const next = groups.value?.next
        if (next !== null && next !== undefined) url.set({ cursor: next }, 'PUSH')
      },
    },
  ])
  const listed = isScan ? scan.groups : (groups.value?.items ?? [])
  const shown = closed === 'shown' ? listed : listed.filter(({ state }) => state === 'OPEN')
  const closedCount = listed.length - listed.filter(({ state }) => state === 'OPEN').length
  const binding = filter.binding === '' ? onlyBinding(listed) : filter.binding
  const table = (
    <GroupTable
      groups={shown}
      window={windowOf(listed)}
      actions={{
        onReplay: (group) => ask({ kind: 'REPLAY', selection: selectionOfGroup(group, filter) }),
        onTriage: (group) => ask({ kind: 'TRIAGE', group }),
        linkQuery: linkQueryOf(place.value.query),
      }}
      empty={
        isScan && scan.state !== 'DONE' ? null : (
          <NoFailures filter={filter} closedCount={closedCount} url={filterUrl} />
        )
      }
      more={
        isScan || groups.value?.next === null || groups.value === undefined ? undefined : (
          <button type="button" onClick={() => url.set({ cursor: groups.value?.next ?? '' }, 'PUSH')}>
            {text.more}
          </button>
        )
      }
    />
  )
  return (
    <>
      <PageHead
        title={failuresText.title}
        actions={
          <>
            <ActionButton
              permit={replayPermit(binding, total?.count)}
              onClick={() =>
                ask({
                  kind: 'REPLAY',
                  selection: { binding: binding ?? '', label: labelOf(filter), filter: selectionOf(filter) },
                })
              }
            >
              {failuresText.replayMatching(total === undefined ? '…' : grouped(total.count))}
            </ActionButton>
            <ActionButton
              permit={
                binding === undefined
                  ? { isAllowed: false, because: failuresText.purgeNeedsBinding }
                  : may('dlt:purge', binding)
              }
              onClick={() => ask({ kind: 'PURGE', binding: binding ?? '' })}
            >
              {failuresText.purge}
            </ActionButton>
            <CopyCurl route="listFailureGroups" request={{ query }} />
          </>
        }
      >
        {total === undefined ? '\u00a0' : countText(total, filter, groups.value?.total?.count ?? listed.length)}
      </PageHead>
      <FilterBar filter={filter} url={filterUrl} />
      {isScan ? <ScanPanel scan={scan} onLeave={() => url.set({ mode: '' }, 'PUSH')} /> : null}
      <div class={`failures${facets === 'off' ? ' no-facets' : ''}`}>
        {facets === 'off' ? null : <FacetPanel filter={filter} url={filterUrl} />}
        <div class="failure-groups">
          <div class="group-order">
            <label>
              <span class="muted">{failuresText.sort}</span>{' '}
              <select
                value={sort}
                onChange={(event) => filterUrl.set({ sort: event.currentTarget.value as typeof sort }, 'PUSH')}
              >
                {(['count', 'last', 'first'] as const).map((one) => (
                  <option key={one} value={one}>
                    {failuresText.sorts[one]}
                  </option>
                ))}
              </select>
            </label>
            {closedCount === 0 ? null : (
              <span class="muted">
                {failuresText.closed(closedCount)} ·{' '}
                <a href={url.href({ closed: closed === 'shown' ? '' : 'shown' })}>
                  {closed === 'shown' ? failuresText.hide : failuresText.show}
                </a>
              </span>
            )}
            {isScan ? null : <a href={url.href({ mode: 'scan' })}>{failuresText.scan}</a>}
          </div>
          {isScan ? table : <ResourceView resource={groups}>{() => table}</ResourceView>}
          {groups.value === undefined ? null : <SourceLine source={groups.value.source} />}
        </div>
      </div>
      {asked === undefined ? null : (
        <AskedDialog
          asked={asked}
          onClose={() => ask(undefined)}
          onSaved={() => {
            groups.reload()
            letters.reload()
          }}
        />
      )}
    </>
  )
}

function AskedDialog({
  asked,
  onClose,
  onSaved,
}: {
  readonly asked: Asked
  readonly onClose: () => void
  readonly onSaved: () => void
}): JSX.Element {
  switch (asked.kind) {
    case 'REPLAY':
      return <ReplayDialog selection={asked.selection} onClose={onClose} />
    case 'TRIAGE':
      return <TriageDialog group={asked.group} onClose={onClose} onSaved={onSaved} />
    case 'PURGE':
      return <PurgeDialog binding={asked.binding} onClose={onClose} />
  }
}

function NoFailures({
  filter,
  closedCount,
  url,
}: {
  readonly filter: FailureFilter
  readonly closedCount: number
  readonly url: { readonly set: (state: object, how?: 'PUSH') => void }
}): JSX.Element {
  const isHandledHidden = filter.state === 'OPEN'
  return (
    <Empty title={isFiltered(filter) || closedCount > 0 ? failuresText.noMatch : failuresText.empty}>
      {isFiltered(filter) ? null : (
        <>
          <p>{failuresText.emptyHint}</p>
          <p class="muted">{failuresText.emptyTry}</p>
        </>
      )}
      {isHandledHidden ? (
        <p>
          <button type="button" onClick={() => url.set({ state: 'ANY' }, 'PUSH')}>
            {failuresText.showAll}
          </button>
        </p>
      ) : null}
    </Empty>
  )
}

function countText(
  { count, exact }: { readonly count: string; readonly exact: boolean },
  { state }: FailureFilter,
  groups: string | number,
): string {
  const letters = countOf(count, state === 'OPEN' ? 'open dead letter' : 'dead letter')
  return failuresText.openCount(`${exact ? '' : 'at least '}${letters}`, countOf(groups, 'group'))
}

/** Says how many came, at most once in ten seconds. */
function useAnnounced(count: string | undefined, filter: string): void {
  const said = useRef<{ readonly count: bigint; readonly filter: string; readonly at: number } | undefined>(undefined)
  useEffect(() => {
    if (count === undefined) return
    const before = said.current
    const more = before?.filter === filter ? BigInt(count) - before.count : 0n
    if (before !== undefined && more > 0n && now() - before.at < announceEveryMs) return
    said.current = { count: BigInt(count), filter, at: now() }
    if (more > 0n) announce(failuresText.added(grouped(more)))
  }, [count, filter])
}

function replayPermit(binding: string | undefined, count: string | undefined): Permit {
  if (binding === undefined) return { isAllowed: false, because: failuresText.replayNeedsBinding }
  if (count === '0') return { isAllowed: false, because: failuresText.nothingToReplay }
  return may('dlt:replay', binding)
}

/** The binding of all groups, if they have one. */
function onlyBinding(groups: readonly Group[]): string | undefined {
  const names = new Set(groups.map(({ binding }) => binding))
  const [name] = names
  return names.size === 1 && name !== null ? name : undefined
}

function selectionOfGroup({ group, binding, exception, message, lastAt }: Group, filter: FailureFilter): Selection {
  const said = message !== null && 'text' in message ? ` ${message.text.slice(0, 100)}` : ''
  return {
    binding: binding ?? '',
    label: `${exception.slice(0, 100)}${said}`,
    filter: { ...selectionOf(filter), group },
    lastDiedAt: lastAt,
  }
}

function labelOf(filter: FailureFilter): string {
  const { binding: _, ...parts } = selectionOf(filter) as Readonly<Record<string, string>>
  const words = Object.entries(parts).map(([name, value]) => `${name} ${value}`)
  return words.length === 0 ? 'all' : words.join(', ')
}

function linkQueryOf(query: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const kept = ['binding', 'state', 'since', 'key', 'q'].filter((name) => query[name] !== undefined)
  return Object.fromEntries(kept.map((name) => [name, query[name] ?? '']))
}

function windowOf(groups: readonly Group[]): { readonly fromMs: number; readonly toMs: number } {
  const firsts = groups.map(({ firstAt }) => instantMs(firstAt)).filter((one) => one !== undefined)
  // Minutes are enough: the spans do not move with each second.
  const toMs = Math.ceil(seconds.value / 60_000) * 60_000
  return { fromMs: Math.min(toMs - 60_000, ...firsts), toMs }
}
