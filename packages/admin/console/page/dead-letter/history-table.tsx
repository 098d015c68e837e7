import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { hrefOf } from '../../state/router.ts'
import { letterText } from '../../text/dead-letter.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { Time } from '../../view/figures.tsx'
import { Section } from '../../view/page-head.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'

const { columns: titles } = letterText

/** The dead letters of the same record: each replay that failed wrote a further one. */
export function HistoryTable({
  letter: { id, history },
}: {
  readonly letter: Pick<Schemas['DeadLetterDetail'], 'id' | 'history'>
}): JSX.Element | null {
  if (history.length < 2) return null
  return (
    <Section title={letterText.history} aside={<span class="muted small">{letterText.historyHint}</span>}>
      <Table
        caption={letterText.history}
        rows={history}
        keyOf={(one) => one.id}
        columns={[
          { id: 'died', title: titles.died, cell: ({ deadAt }) => <Time at={deadAt} isRelative /> },
          { id: 'state', title: titles.state, cell: ({ state }) => <StateChip state={state} /> },
          { id: 'replays', title: titles.replays, cell: ({ replayCount }) => letterText.replayCount(replayCount) },
          {
            id: 'id',
            title: titles.id,
            cell: (one) =>
              one.id === id ? (
                <span class="muted">{letterText.thisOne}</span>
              ) : (
                <a href={hrefOf(['dead-letters', one.id])}>
                  <code>
                    <Inert>{one.id}</Inert>
                  </code>
                </a>
              ),
          },
        ]}
      />
    </Section>
  )
}
