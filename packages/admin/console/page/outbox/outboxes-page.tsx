import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { compact } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { sortParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, urlState } from '../../state/router.ts'
import { outboxText } from '../../text/outbox.ts'
import { CopyButton, CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Figure } from '../../view/figures.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { type Column, Table } from '../../view/table.tsx'
import { BacklogFigure, ModeTag } from './outbox-figures.tsx'

type Outbox = Schemas['Outbox']

const { columns: titles } = outboxText
const params = {
  sort: sortParam(['outbox', 'pending', 'retrying', 'oldest', 'dead'], { column: 'outbox', isDescending: false }),
}

/** All outboxes with their backlog. */
export default function OutboxesPage(): JSX.Element {
  const resource = useResource((signal) => call('listOutboxes', {}, { signal }), [])
  const url = urlState(params)
  return (
    <>
      <PageHead title={outboxText.title}>{outboxText.about}</PageHead>
      <Section title={outboxText.outboxes} aside={<CopyCurl route="listOutboxes" request={{}} />}>
        <ResourceView resource={resource}>
          {({ items }) => (
            <Table
              caption={outboxText.outboxes}
              hasKeys
              columns={columns}
              rows={items}
              keyOf={({ outbox }) => outbox}
              sort={url.value.sort}
              onSort={(sort) => url.set({ sort: sort as typeof url.value.sort })}
              empty={<NoOutbox />}
            />
          )}
        </ResourceView>
      </Section>
    </>
  )
}

const columns: readonly Column<Outbox>[] = [
  {
    id: 'outbox',
    title: titles.outbox,
    sortBy: ({ outbox }) => outbox,
    cell: ({ outbox }) => <a href={hrefOf(['outbox', outbox])}>{outbox}</a>,
  },
  { id: 'mode', title: titles.mode, cell: ({ mode }) => <ModeTag mode={mode} /> },
  {
    id: 'pending',
    title: titles.pending,
    align: 'end',
    sortBy: ({ backlog }) => backlog.pending,
    cell: ({ backlog }) => <BacklogFigure value={backlog.pending} isBound={backlog.more} />,
  },
  {
    id: 'retrying',
    title: titles.retrying,
    align: 'end',
    sortBy: ({ backlog }) => backlog.retrying,
    cell: ({ backlog }) => <Figure value={backlog.retrying} tone={backlog.retrying === '0' ? undefined : 'warn'} />,
  },
  {
    id: 'oldest',
    title: titles.oldest,
    align: 'end',
    sortBy: ({ backlog }) => backlog.oldestAgeMs,
    cell: ({ backlog }) => <Figure value={duration(backlog.oldestAgeMs)} />,
  },
  {
    id: 'dead',
    title: titles.dead,
    align: 'end',
    sortBy: ({ dead }) => dead,
    cell: ({ dead }) => <Figure value={dead} tone={dead === '0' ? undefined : 'bad'} />,
  },
  {
    id: 'rate',
    title: titles.rate,
    align: 'end',
    cell: ({ rates }) => <Rate value={rates.successPerSecond} />,
  },
  {
    id: 'failures',
    title: titles.failures,
    align: 'end',
    cell: ({ rates }) => <Rate value={rates.failurePerSecond} />,
  },
  { id: 'nodes', title: titles.nodes, align: 'end', cell: ({ nodes }) => <Figure value={nodes.length} /> },
]

function Rate({ value }: { readonly value: number | null }): JSX.Element {
  return <Figure value={value === null ? null : `${compact(value)}/s`} />
}

function NoOutbox(): JSX.Element {
  return (
    <Empty title={outboxText.none}>
      <p>{outboxText.noneHint}</p>
      <pre class="payload">{outboxText.noneSample}</pre>
      <CopyButton text={outboxText.noneSample} label={outboxText.copySample}>
        {outboxText.copySample}
      </CopyButton>
    </Empty>
  )
}
