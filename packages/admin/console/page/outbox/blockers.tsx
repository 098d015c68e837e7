import type { JSX } from 'preact'
import { call } from '../../api/client.ts'
import { grouped } from '../../format/number.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { outboxText } from '../../text/outbox.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { ShortBytes } from '../../view/bytes-view.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Figure, Time } from '../../view/figures.tsx'
import { Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'

const { columns: titles } = outboxText

/** Failed events that later events of their key wait for. */
export function Blockers({
  outbox,
  version,
  onReplay,
}: {
  readonly outbox: string
  /** Changes when the rows changed. */
  readonly version: number
  readonly onReplay: (eventId: string) => void
}): JSX.Element {
  const request = { params: { outbox } }
  const resource = useResource((signal) => call('listBlockers', request, { signal }), [outbox, version])
  return (
    <Section
      title={outboxText.blockers}
      aside={
        <>
          <span class="muted">{outboxText.blockersHint}</span>
          <CopyCurl route="listBlockers" request={request} />
        </>
      }
    >
      <ResourceView resource={resource} rows={1}>
        {({ items }) => (
          <Table
            caption={outboxText.blockers}
            rows={items}
            keyOf={({ seq }) => seq}
            empty={<Empty title={outboxText.noBlockers} />}
            columns={[
              {
                id: 'key',
                title: titles.key,
                cell: ({ eventId, aggregateType, aggregateId }) => (
                  <a href={hrefOf(['outbox', outbox, 'events', eventId])}>
                    {aggregateType} <ShortBytes value={aggregateId} max={80} />
                  </a>
                ),
              },
              { id: 'status', title: titles.status, cell: ({ status }) => <StateChip state={status} /> },
              { id: 'attempts', title: titles.attempts, align: 'end', cell: ({ attempts }) => attempts },
              {
                id: 'behind',
                title: titles.behind,
                align: 'end',
                cell: ({ behind: { count, exact } }) => (
                  <Figure value={exact ? count : outboxText.atLeast(grouped(count))} />
                ),
              },
              { id: 'since', title: titles.since, cell: ({ since }) => <Time at={since} isRelative /> },
              {
                id: 'error',
                title: titles.error,
                className: 'event-error',
                cell: ({ lastError }) => <ShortBytes value={lastError} max={120} />,
              },
              {
                id: 'actions',
                title: titles.actions,
                className: 'row-actions',
                cell: ({ eventId, status }) =>
                  status === 'DEAD' ? (
                    <ActionButton
                      permit={may('outbox:replay', outbox)}
                      label={outboxText.replayOne(eventId)}
                      onClick={() => onReplay(eventId)}
                    >
                      {outboxText.replay}
                    </ActionButton>
                  ) : null,
              },
            ]}
          />
        )}
      </ResourceView>
    </Section>
  )
}
