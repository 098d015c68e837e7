import './topics.css'
import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { duration } from '../../format/time.ts'
import { sortParam, wordParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, urlState } from '../../state/router.ts'
import { sees } from '../../state/session.ts'
import { topicsText } from '../../text/topics.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Figure } from '../../view/figures.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { Glyph, Tag } from '../../view/state-chip.tsx'
import { type Column, Table } from '../../view/table.tsx'
import { GroupTable } from './group-table.tsx'

type Topic = Schemas['Topic']

const { column: titles } = topicsText
const roles = ['', 'SOURCE', 'TIER', 'DLT'] as const
const params = {
  role: wordParam(roles, ''),
  sort: sortParam(['topic', 'partitions', 'records'], { column: 'topic', isDescending: false }),
}

/** The topics of bindings and the groups that read them. */
export default function TopicsPage(): JSX.Element {
  const url = urlState(params)
  const { role, sort } = url.value
  const request = { query: role === '' ? {} : { role } }
  const topics = useResource((signal) => call('listTopics', request, { signal }), [role], { everyMs: 10_000 })
  return (
    <>
      <PageHead title={topicsText.title}>{topicsText.about}</PageHead>
      <div class="filters">
        <select
          aria-label={topicsText.role}
          value={role}
          onChange={(event) => url.set({ role: event.currentTarget.value as (typeof roles)[number] })}
        >
          {roles.map((one) => (
            <option key={one} value={one}>
              {topicsText.roles[one]}
            </option>
          ))}
        </select>
        <CopyCurl route="listTopics" request={request} />
      </div>
      <ResourceView resource={topics} rows={6}>
        {({ items }) => (
          <Table
            caption={topicsText.title}
            hasKeys
            rows={items}
            keyOf={({ cluster, topic }) => `${cluster} ${topic}`}
            columns={columns}
            sort={sort}
            onSort={(next) => url.set({ sort: next as typeof sort })}
            empty={
              <Empty title={topicsText.none}>
                <p>{topicsText.noneHint}</p>
              </Empty>
            }
          />
        )}
      </ResourceView>
      {sees('groups:read') ? (
        <Section title={topicsText.groups} aside={<CopyCurl route="listGroups" request={{}} />}>
          <GroupTable />
        </Section>
      ) : null}
    </>
  )
}

const columns: readonly Column<Topic>[] = [
  {
    id: 'topic',
    title: titles.topic,
    className: 'topic-name',
    sortBy: ({ topic }) => topic,
    cell: ({ topic, cluster }) => (
      <>
        {topic} {cluster === 'default' ? null : <Tag>{cluster}</Tag>}
      </>
    ),
  },
  {
    id: 'uses',
    title: titles.uses,
    cell: ({ uses }) =>
      uses.map(({ binding, role }) => (
        <span key={`${binding} ${role}`} class="use">
          <a href={hrefOf(['bindings', binding])}>{binding}</a>{' '}
          <span class="muted">{topicsText.roleWord[role] ?? role}</span>
        </span>
      )),
  },
  {
    id: 'partitions',
    title: titles.partitions,
    align: 'end',
    sortBy: ({ partitions }) => partitions.length,
    cell: ({ partitions, trouble }) => <Figure value={trouble === null ? partitions.length : null} />,
  },
  {
    id: 'records',
    title: titles.records,
    hint: titles.recordsHint,
    align: 'end',
    sortBy: recordsOf,
    cell: (topic) => <Figure value={recordsOf(topic)} />,
  },
  {
    id: 'replication',
    title: titles.replication,
    align: 'end',
    cell: ({ replication, trouble }) => <Figure value={trouble === null ? replication : null} />,
  },
  {
    id: 'settings',
    title: titles.settings,
    className: 'settings-cell',
    cell: ({ settings }) => <Settings settings={settings} />,
  },
  { id: 'remarks', title: titles.remarks, className: 'wide', cell: (topic) => <Remarks topic={topic} /> },
]

/** Null unless all partitions are known. */
function recordsOf({ partitions, trouble }: Topic): string | null {
  if (trouble !== null || partitions.some(({ start, end }) => start === null || end === null)) return null
  return String(partitions.reduce((sum, { start, end }) => sum + BigInt(end ?? 0) - BigInt(start ?? 0), 0n))
}

function Settings({ settings }: { readonly settings: Topic['settings'] }): JSX.Element {
  const retention = settings['retention.ms']
  const words = [
    settings['cleanup.policy'],
    retention === null || retention === undefined
      ? null
      : retention === '-1'
        ? 'kept forever'
        : duration(Number(retention)),
  ].filter((one) => one !== null && one !== undefined)
  const title = Object.entries(settings)
    .flatMap(([name, value]) => (value === null ? [] : [`${name} = ${value}`]))
    .join('\n')
  return <span title={title}>{words.length === 0 ? '–' : words.join(' · ')}</span>
}

function Remarks({ topic: { remarks, trouble, underReplicated } }: { readonly topic: Topic }): JSX.Element {
  const lines = [
    ...(trouble === null ? [] : [trouble]),
    ...(underReplicated === 0 ? [] : [topicsText.underReplicated(underReplicated)]),
    ...remarks,
  ]
  return (
    <>
      {lines.map((line) => (
        <div key={line}>
          <Glyph tone="warn">▲</Glyph> {line}
        </div>
      ))}
    </>
  )
}
