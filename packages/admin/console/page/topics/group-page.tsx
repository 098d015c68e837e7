import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { countOf } from '../../format/number.ts'
import { textParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, urlState } from '../../state/router.ts'
import { topicsText } from '../../text/topics.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Figure } from '../../view/figures.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'
import type { PageProps } from '../pages.ts'

const params = { cluster: textParam() }

/** A consumer group: its members, and how far it is. */
export default function GroupPage({ params: { group: groupId = '' } }: PageProps): JSX.Element {
  const { cluster } = urlState(params).value
  const request = { params: { groupId }, query: { cluster } }
  const group = useResource((signal) => call('getGroup', request, { signal }), [groupId, cluster])
  const binding = group.value?.binding
  return (
    <>
      <PageHead
        title={topicsText.groupTitle(groupId)}
        after={group.value === undefined ? null : <StateChip state={group.value.state.toUpperCase()} />}
        actions={<CopyCurl route="getGroup" request={request} />}
      >
        {binding === undefined ? null : binding === null ? (
          topicsText.otherProgram
        ) : (
          <a href={hrefOf(['bindings', binding])}>{binding}</a>
        )}
      </PageHead>
      <ResourceView resource={group} rows={6}>
        {(value) => (
          <>
            <Positions partitions={value.partitions} />
            <Members members={value.memberList ?? []} />
          </>
        )}
      </ResourceView>
    </>
  )
}

function Positions({ partitions }: { readonly partitions: Schemas['GroupDetail']['partitions'] }): JSX.Element {
  const { position: titles } = topicsText
  const lags = partitions.map(({ lag }) => lag)
  const behind = lags.includes(null) ? undefined : lags.reduce((sum, lag) => sum + BigInt(lag ?? 0), 0n)
  return (
    <Section
      title={topicsText.positions}
      aside={
        behind === undefined ? null : <span class="muted">{topicsText.lagOf(countOf(String(behind), 'record'))}</span>
      }
    >
      <Table
        caption={topicsText.positions}
        hasKeys
        rows={partitions}
        keyOf={({ topic, partition }) => `${topic} ${partition}`}
        empty={<p class="muted">{topicsText.noPositions}</p>}
        columns={[
          {
            id: 'partition',
            title: titles.partition,
            cell: ({ topic, partition }) => (
              <>
                <span class="figure">{partition}</span> <span class="muted">{topic}</span>
              </>
            ),
          },
          {
            id: 'committed',
            title: titles.committed,
            align: 'end',
            cell: ({ committed }) => <Figure value={committed} />,
          },
          { id: 'end', title: titles.end, align: 'end', cell: ({ end }) => <Figure value={end} /> },
          { id: 'lag', title: titles.lag, align: 'end', cell: ({ lag }) => <Figure value={lag} /> },
        ]}
      />
    </Section>
  )
}

type Member = NonNullable<Schemas['GroupDetail']['memberList']>[number]

function Members({ members }: { readonly members: readonly Member[] }): JSX.Element {
  const { member: titles } = topicsText
  return (
    <Section title={topicsText.members}>
      <Table
        caption={topicsText.members}
        rows={members}
        keyOf={({ memberId }) => memberId}
        empty={<p class="muted">{topicsText.noMembers}</p>}
        columns={[
          { id: 'id', title: titles.id, cell: ({ memberId, instanceId }) => instanceId ?? <code>{memberId}</code> },
          { id: 'client', title: titles.client, cell: ({ clientId }) => clientId },
          { id: 'host', title: titles.host, cell: ({ host }) => host },
          {
            id: 'partitions',
            title: titles.partitions,
            className: 'wide',
            cell: ({ assignment }) =>
              assignment?.map(({ topic, partition }) => `${topic}:${partition}`).join(', ') ?? '–',
          },
        ]}
      />
    </Section>
  )
}
