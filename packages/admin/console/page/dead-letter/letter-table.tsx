import type { ComponentChildren, JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { hrefOf } from '../../state/router.ts'
import { letterText } from '../../text/dead-letter.ts'
import { Inert, ShortBytes } from '../../view/bytes-view.tsx'
import { Figure, Time } from '../../view/figures.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { type Column, Table } from '../../view/table.tsx'

type Letter = Schemas['DeadLetter']

const { columns: titles } = letterText

/** Dead letters, newest first, with boxes to select them. */
export function LetterTable({
  letters,
  selected,
  onSelect,
  empty,
  more,
}: {
  readonly letters: readonly Letter[]
  readonly selected: ReadonlySet<string>
  readonly onSelect: (id: string) => void
  readonly empty: ComponentChildren
  readonly more?: ComponentChildren
}): JSX.Element {
  return (
    <Table
      caption={letterText.letters}
      hasKeys
      rows={letters}
      keyOf={({ id }) => id}
      columns={columnsOf(selected, onSelect)}
      rowClass={({ id }) => (selected.has(id) ? 'selected-row' : undefined)}
      empty={empty}
      more={more}
    />
  )
}

function columnsOf(selected: ReadonlySet<string>, onSelect: (id: string) => void): readonly Column<Letter>[] {
  return [
    {
      id: 'died',
      title: titles.died,
      className: 'letter-cell',
      cell: ({ id, deadAt }) => (
        <>
          <input
            type="checkbox"
            aria-label={letterText.select(id)}
            checked={selected.has(id)}
            onChange={() => onSelect(id)}
          />{' '}
          <a href={hrefOf(['dead-letters', id])}>
            <Time at={deadAt} isRelative />
          </a>
        </>
      ),
    },
    { id: 'key', title: titles.key, cell: ({ key }) => <ShortBytes value={key} max={40} /> },
    {
      id: 'event',
      title: titles.event,
      cell: ({ event }) => (event === null ? <span class="unknown">–</span> : <Inert>{event.slice(0, 80)}</Inert>),
    },
    { id: 'state', title: titles.state, cell: ({ state }) => <StateChip state={state} /> },
    {
      id: 'calls',
      title: titles.calls,
      hint: letterText.callsHint,
      align: 'end',
      cell: ({ totalAttempts }) => <Figure value={totalAttempts} />,
    },
    {
      id: 'replays',
      title: titles.replays,
      hint: letterText.replaysHint,
      align: 'end',
      cell: ({ replayCount }) => <Figure value={replayCount} />,
    },
    {
      id: 'message',
      title: titles.message,
      className: 'message-cell',
      cell: ({ message }) => <ShortBytes value={message} max={160} />,
    },
    {
      id: 'id',
      title: titles.id,
      className: 'id-cell',
      cell: ({ id }) => (
        <code class="muted">
          <Inert>{id}</Inert>
        </code>
      ),
    },
  ]
}
