import type { ComponentChildren, JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { instantMs } from '../../format/time.ts'
import { useKeys } from '../../state/keys.ts'
import { hrefOf } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { failuresText } from '../../text/failures.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { Inert, ShortBytes } from '../../view/bytes-view.tsx'
import { Ago, Figure, Time } from '../../view/figures.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { type Column, focusedRowKey, Table } from '../../view/table.tsx'
import { spanOf } from './failure-filter.ts'

type Group = Schemas['FailureGroup']

const { columns: titles } = failuresText

/** The actions of rows in a table of groups. */
export interface GroupActions {
  readonly onReplay: (group: Group) => void
  readonly onTriage: (group: Group) => void
  /** The query of links, so that the dead letters of a group are filtered alike. */
  readonly linkQuery: Readonly<Record<string, string>>
}

/** Failure groups. */
export function GroupTable({
  groups,
  actions,
  window,
  empty,
  more,
}: {
  readonly groups: readonly Group[]
  readonly actions: GroupActions
  /** The time that spans are drawn in. */
  readonly window: { readonly fromMs: number; readonly toMs: number }
  readonly empty: ComponentChildren
  readonly more?: ComponentChildren
}): JSX.Element {
  const ofRow = (run: (group: Group) => void, permission: string): void => {
    const group = groups.find((one) => one.group === focusedRowKey())
    if (group !== undefined && mayOf(permission, group).isAllowed) run(group)
  }
  useKeys(failuresText.keysTitle, [
    { keys: 'r', label: failuresText.keys.replay, run: () => ofRow(actions.onReplay, 'dlt:replay') },
    { keys: 'n', label: failuresText.keys.note, run: () => ofRow(actions.onTriage, 'dlt:triage') },
  ])
  return (
    <Table
      caption={failuresText.groups}
      hasKeys
      columns={columnsOf(actions, window)}
      rows={groups}
      keyOf={({ group }) => group}
      rowClass={({ state }) => (state === 'OPEN' ? undefined : 'closed-group')}
      empty={empty}
      more={more}
    />
  )
}

function mayOf(permission: string, { binding }: Pick<Group, 'binding'>): ReturnType<typeof may> {
  if (binding !== null) return may(permission, binding)
  return permission === 'dlt:replay' ? { isAllowed: false, because: failuresText.noBinding } : may(permission)
}

function columnsOf(
  { onReplay, onTriage, linkQuery }: GroupActions,
  window: { readonly fromMs: number; readonly toMs: number },
): readonly Column<Group>[] {
  return [
    {
      id: 'group',
      title: titles.group,
      className: 'group-cell',
      cell: (group) => (
        <>
          <div class="group-name">
            {group.state === 'OPEN' ? null : <StateChip state={group.state} />}
            <a href={hrefOf(['failures', group.group], linkQuery)}>
              <Inert>{group.exception.slice(0, 120)}</Inert>
            </a>
            <span class="group-message">
              <ShortBytes value={group.message} max={160} />
            </span>
          </div>
          <div class="group-facts">
            <Inert>{(group.binding ?? failuresText.noBinding).slice(0, 120)}</Inert> ·{' '}
            <Inert>{(group.event ?? failuresText.noEvent).slice(0, 120)}</Inert> ·{' '}
            <Inert>{shortFrame(group.frame)}</Inert>
          </div>
          {group.note === null ? null : (
            <div class="group-note">
              <span class="muted">{failuresText.note(group.by)}:</span> <Inert>{group.note.slice(0, 300)}</Inert>
            </div>
          )}
        </>
      ),
    },
    {
      id: 'count',
      title: titles.count,
      hint: failuresText.countHint,
      align: 'end',
      cell: ({ count, state }) => <Figure value={count} tone={state === 'OPEN' ? 'bad' : undefined} />,
    },
    { id: 'first', title: titles.first, cell: ({ firstAt }) => <Time at={firstAt} /> },
    { id: 'last', title: titles.last, cell: ({ lastAt }) => <Ago at={lastAt} /> },
    {
      id: 'when',
      title: titles.when,
      hint: failuresText.whenHint,
      cell: (group) => <Span group={group} {...window} />,
    },
    {
      id: 'actions',
      title: titles.actions,
      className: 'row-actions',
      cell: (group) => (
        <>
          <ActionButton
            permit={mayOf('dlt:replay', group)}
            label={failuresText.replayOf(group.exception.slice(0, 60))}
            onClick={() => onReplay(group)}
          >
            {failuresText.replay}
          </ActionButton>{' '}
          <ActionButton
            permit={mayOf('dlt:triage', group)}
            label={failuresText.triageOf(group.exception.slice(0, 60))}
            onClick={() => onTriage(group)}
          >
            {failuresText.triage}
          </ActionButton>
        </>
      ),
    },
  ]
}

/** The last parts of a path say the most. */
function shortFrame(frame: string | null): string {
  if (frame === null) return failuresText.noFrame
  const parts = frame.slice(0, 500).split('/')
  return parts.length <= 4 ? frame.slice(0, 120) : `…/${parts.slice(-3).join('/').slice(-120)}`
}

const width = 72

/** When a group died, within the shown time. */
function Span({
  group: { firstAt, lastAt },
  fromMs,
  toMs,
}: {
  readonly group: Group
  readonly fromMs: number
  readonly toMs: number
}): JSX.Element {
  const firstMs = instantMs(firstAt)
  const lastMs = instantMs(lastAt)
  if (firstMs === undefined || lastMs === undefined) return <span class="unknown">–</span>
  const { start, width: share } = spanOf({ firstMs, lastMs }, { fromMs, toMs })
  return (
    <svg
      class="group-span tone-bad"
      viewBox={`0 0 ${width} 10`}
      width={width}
      height={10}
      role="img"
      aria-label={failuresText.spanLabel(firstAt ?? '', lastAt ?? '')}
    >
      <line class="group-span-line" x1={0} y1={5} x2={width} y2={5} />
      <rect x={start * width} y={2} width={share * width} height={6} rx={1} />
    </svg>
  )
}
