import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { countOf } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { sortParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { urlState } from '../../state/router.ts'
import { bindingText } from '../../text/binding.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Figure } from '../../view/figures.tsx'
import { Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { Glyph } from '../../view/state-chip.tsx'
import { type Column, Table } from '../../view/table.tsx'

type Partition = Schemas['Partition']

const { column: titles } = bindingText
const columnIds = ['trouble', 'partition', 'owner', 'lag', 'oldest', 'running'] as const
const params = { sort: sortParam(columnIds, { column: 'trouble', isDescending: false }) }

/** The partitions of the source and the tiers, those with trouble first. */
export function PartitionsTab({ binding }: { readonly binding: string }): JSX.Element {
  const url = urlState(params)
  const request = { params: { name: binding } }
  const partitions = useResource((signal) => call('listPartitions', request, { signal }), [binding], { everyMs: 3_000 })
  return (
    <Section title={bindingText.partitions} aside={<CopyCurl route="listPartitions" request={request} />}>
      <ResourceView resource={partitions} rows={6}>
        {({ items, scope }) => (
          <>
            <Table
              caption={bindingText.partitions}
              hasKeys
              columns={columnsOf(Math.max(1, ...items.map(({ lag }) => Number(lag ?? 0))))}
              rows={items.toSorted(byTrouble)}
              keyOf={keyOf}
              sort={url.value.sort.column === 'trouble' ? undefined : url.value.sort}
              onSort={(sort) => url.set({ sort: sort as typeof url.value.sort })}
              empty={<Empty title={bindingText.noPartitions} />}
            />
            {scope === 'FLEET' && items.some(({ instance }) => instance === null) ? (
              <p class="muted small">{bindingText.partitionsScope}</p>
            ) : null}
          </>
        )}
      </ResourceView>
    </Section>
  )
}

function keyOf({ topic, partition, tier }: Partition): string {
  return `${topic} ${tier} ${partition}`
}

function byTrouble(one: Partition, other: Partition): number {
  return (
    Number(other.trouble !== null) - Number(one.trouble !== null) ||
    one.tier - other.tier ||
    one.topic.localeCompare(other.topic) ||
    one.partition - other.partition
  )
}

function columnsOf(mostLag: number): readonly Column<Partition>[] {
  return [
    {
      id: 'partition',
      title: titles.partition,
      sortBy: ({ topic, partition }) => `${topic} ${String(partition).padStart(6, '0')}`,
      cell: ({ topic, partition }) => (
        <>
          <span class="figure">{partition}</span> <span class="muted">{topic}</span>
        </>
      ),
    },
    { id: 'from', title: titles.from, cell: ({ tier }) => bindingText.tier(tier) },
    {
      id: 'owner',
      title: titles.owner,
      sortBy: ({ instance, owner }) => instance ?? owner?.clientId,
      cell: ({ instance, member, owner }) =>
        instance === null ? (owner?.instanceId ?? owner?.clientId ?? '–') : bindingText.member(instance, member ?? 0),
    },
    {
      id: 'lag',
      title: titles.lag,
      align: 'end',
      sortBy: ({ lag }) => lag,
      cell: ({ lag }) => (
        <span class="lag">
          {lag === null || lag === '0' ? null : (
            <meter min={0} max={mostLag} value={Number(lag)} aria-label={titles.lag} />
          )}
          <Figure value={lag} />
        </span>
      ),
    },
    {
      id: 'oldest',
      title: titles.oldest,
      align: 'end',
      sortBy: ({ lagSeconds }) => lagSeconds,
      cell: ({ lag, lagSeconds }) => (
        <Figure value={lagSeconds === null ? (lag === '0' ? '0 s' : null) : duration(lagSeconds * 1_000)} />
      ),
    },
    { id: 'committed', title: titles.committed, align: 'end', cell: ({ committed }) => <Figure value={committed} /> },
    { id: 'end', title: titles.end, align: 'end', cell: ({ end }) => <Figure value={end} /> },
    {
      id: 'running',
      title: titles.running,
      align: 'end',
      sortBy: ({ running }) => running,
      cell: ({ running }) => <Figure value={running} />,
    },
    { id: 'buffered', title: titles.buffered, align: 'end', cell: ({ buffered }) => <Figure value={buffered} /> },
    { id: 'waiting', title: titles.waiting, align: 'end', cell: ({ waiting }) => <Figure value={waiting} /> },
    { id: 'remark', title: titles.remark, className: 'wide', cell: (row) => <Remarks row={row} /> },
  ]
}

function Remarks({ row }: { readonly row: Partition }): JSX.Element {
  const { trouble, pausedBy, oldestHandlerMs, unconfirmed } = row
  const words = [
    ...(pausedBy.length === 0 ? [] : [bindingText.pausedBy(pausedBy.join(', '))]),
    ...(oldestHandlerMs !== null && oldestHandlerMs >= 1_000 ? [bindingText.runsSince(duration(oldestHandlerMs))] : []),
    ...(unconfirmed === null || unconfirmed === 0 ? [] : [bindingText.unconfirmed(countOf(unconfirmed, 'record'))]),
  ]
  return (
    <>
      {trouble === null ? null : (
        <span>
          <Glyph tone="warn">▲</Glyph> {trouble}{' '}
        </span>
      )}
      <span class="muted">{words.join(' · ')}</span>
    </>
  )
}
