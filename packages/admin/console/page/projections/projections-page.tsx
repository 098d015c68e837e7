import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { sortParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, urlState } from '../../state/router.ts'
import { projectionsText } from '../../text/projections.ts'
import { CopyButton, CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Figure } from '../../view/figures.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { type Column, Table } from '../../view/table.tsx'

const { columns: titles, hints } = projectionsText
const params = {
  sort: sortParam(['projection', 'lag', 'quarantined'], { column: 'projection', isDescending: false }),
}

/** All projections: which table serves, what is being rebuilt, and what is quarantined. */
export default function ProjectionsPage(): JSX.Element {
  const resource = useResource((signal) => call('listProjections', {}, { signal }), [])
  const url = urlState(params)
  return (
    <>
      <PageHead title={projectionsText.title}>{projectionsText.about}</PageHead>
      <Section title={projectionsText.list} aside={<CopyCurl route="listProjections" request={{}} />}>
        <ResourceView resource={resource}>
          {({ items }) => (
            <Table
              caption={projectionsText.list}
              hasKeys
              columns={columns}
              rows={items}
              keyOf={({ projection }) => projection}
              sort={url.value.sort}
              onSort={(sort) => url.set({ sort: sort as typeof url.value.sort })}
              empty={<NoProjection />}
            />
          )}
        </ResourceView>
      </Section>
    </>
  )
}

const columns: readonly Column<Schemas['Projection']>[] = [
  {
    id: 'projection',
    title: titles.projection,
    sortBy: ({ projection }) => projection,
    cell: ({ projection }) => <a href={hrefOf(['projections', projection])}>{projection}</a>,
  },
  { id: 'revision', title: titles.revision, hint: hints.revision, align: 'end', cell: ({ revision }) => revision },
  {
    id: 'live',
    title: titles.live,
    cell: ({ live }) => (live === null ? projectionsText.noTable : projectionsText.table(live.build)),
  },
  {
    id: 'rebuild',
    title: titles.rebuild,
    cell: ({ rebuild }) =>
      rebuild === null ? (
        <Figure value={null} title={projectionsText.noRebuild} />
      ) : (
        <StateChip state={rebuild.state}>{projectionsText.table(rebuild.build)}</StateChip>
      ),
  },
  {
    id: 'lag',
    title: titles.lag,
    hint: hints.lag,
    align: 'end',
    sortBy: ({ lagRecords }) => lagRecords,
    cell: ({ lagRecords }) => <Figure value={lagRecords} />,
  },
  {
    id: 'quarantined',
    title: titles.quarantined,
    hint: hints.quarantined,
    align: 'end',
    sortBy: ({ quarantinedKeys }) => quarantinedKeys,
    cell: ({ quarantinedKeys }) => (
      <Figure value={quarantinedKeys} tone={quarantinedKeys === '0' ? undefined : 'bad'} />
    ),
  },
]

function NoProjection(): JSX.Element {
  return (
    <Empty title={projectionsText.none}>
      <p>{projectionsText.noneHint}</p>
      <pre class="payload">{projectionsText.noneSample}</pre>
      <CopyButton text={projectionsText.noneSample} label={projectionsText.copySample}>
        {projectionsText.copySample}
      </CopyButton>
    </Empty>
  )
}
