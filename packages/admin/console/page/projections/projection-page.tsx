import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { grouped } from '../../format/number.ts'
import { live } from '../../state/live.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf } from '../../state/router.ts'
import { may, type Permit } from '../../state/session.ts'
import { projectionsText } from '../../text/projections.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Fact } from '../../view/fact.tsx'
import { Figure, Time } from '../../view/figures.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'
import type { PageProps } from '../pages.ts'
import { Quarantine } from './quarantine.tsx'
import { RebuildDialog } from './rebuild-dialog.tsx'

type Detail = Schemas['ProjectionDetail']

const { columns: titles, hints } = projectionsText

/** One projection: its tables, its positions, and its quarantined keys. */
export default function ProjectionPage({ params: { name = '' } }: PageProps): JSX.Element {
  const request = { params: { name } }
  const resource = useResource((signal) => call('getProjection', request, { signal }), [name])
  const [isAsked, ask] = useState(false)
  const { value } = resource
  return (
    <>
      <PageHead
        title={name}
        actions={
          <>
            <ActionButton permit={rebuildPermit(name, value)} onClick={() => ask(true)}>
              {projectionsText.rebuild}
            </ActionButton>
            <CopyCurl route="getProjection" request={request} />
          </>
        }
      />
      <RunningRebuild projection={name} />
      <ResourceView resource={resource}>
        {(detail) => (
          <>
            <Facts detail={detail} />
            <Tables detail={detail} />
          </>
        )}
      </ResourceView>
      {value === undefined ? null : value.quarantinedKeys === '0' ? (
        <Section title={projectionsText.quarantine}>
          <p class="muted">{projectionsText.noQuarantine}</p>
        </Section>
      ) : (
        <Quarantine projection={name} />
      )}
      {value === undefined ? null : <Positions detail={value} />}
      {isAsked ? (
        <RebuildDialog
          projection={name}
          onClose={() => {
            ask(false)
            resource.reload()
          }}
        />
      ) : null}
    </>
  )
}

function rebuildPermit(name: string, detail: Detail | undefined): Permit {
  const permit = may('projections:rebuild', name)
  if (!permit.isAllowed || detail?.canRebuild !== false) return permit
  return { isAllowed: false, because: projectionsText.cannotRebuild }
}

function Facts({
  detail: { revision, live: serving, lagRecords, quarantinedKeys },
}: {
  readonly detail: Detail
}): JSX.Element {
  const isOutdated = serving !== null && serving.revision !== revision
  return (
    <>
      {isOutdated ? (
        <p class="tone-warn">
          <span aria-hidden="true">▲ </span>
          {projectionsText.outdated(serving.revision, revision)}
        </p>
      ) : null}
      <dl class="facts">
        <Fact name={titles.revision}>{revision}</Fact>
        <Fact name={titles.live}>
          {serving === null ? projectionsText.noTable : projectionsText.table(serving.build)}
        </Fact>
        <Fact name={titles.lag}>
          <Figure value={lagRecords} title={hints.lag} />
        </Fact>
        <Fact name={titles.quarantined}>
          <Figure
            value={quarantinedKeys}
            tone={quarantinedKeys === '0' ? undefined : 'bad'}
            title={hints.quarantined}
          />
        </Fact>
      </dl>
    </>
  )
}

function Tables({ detail: { builds } }: { readonly detail: Detail }): JSX.Element {
  return (
    <Section title={projectionsText.tables}>
      <Table
        caption={projectionsText.tables}
        rows={builds.toReversed()}
        keyOf={({ build }) => String(build)}
        empty={<Empty title={projectionsText.noTable} />}
        columns={[
          { id: 'build', title: titles.build, cell: ({ build }) => build },
          {
            id: 'state',
            title: titles.state,
            cell: ({ state }) => (
              <StateChip state={state}>
                {Object.hasOwn(projectionsText.states, state) ? projectionsText.states[state] : undefined}
              </StateChip>
            ),
          },
          { id: 'revision', title: titles.revision, align: 'end', cell: ({ revision }) => revision },
          { id: 'changed', title: titles.changed, cell: ({ changedAt }) => <Time at={changedAt} isRelative /> },
          { id: 'reason', title: titles.reason, cell: ({ reason }) => reason ?? '' },
        ]}
      />
    </Section>
  )
}

function Positions({ detail: { positions } }: { readonly detail: Detail }): JSX.Element {
  return (
    <Section title={projectionsText.positions}>
      <Table
        caption={projectionsText.positions}
        rows={positions}
        keyOf={({ build, topic, partition }) => `${build}:${topic}:${partition}`}
        empty={<Empty title={projectionsText.noPositions} />}
        columns={[
          { id: 'topic', title: titles.topic, cell: ({ topic }) => topic },
          { id: 'partition', title: titles.partition, align: 'end', cell: ({ partition }) => partition },
          { id: 'build', title: titles.build, align: 'end', cell: ({ build }) => build },
          {
            id: 'next',
            title: titles.next,
            hint: hints.next,
            align: 'end',
            cell: ({ next }) => <Figure value={next} />,
          },
        ]}
      />
    </Section>
  )
}

/** The operation that rebuilds it now, with what it has done. */
function RunningRebuild({ projection }: { readonly projection: string }): JSX.Element | null {
  const running = [...(live.items.operation.value?.values() ?? [])].find(
    (one) => one.projection === projection && (one.state === 'RUNNING' || one.state === 'PAUSED'),
  )
  if (running === undefined) return null
  return (
    <Section
      title={projectionsText.running}
      aside={<a href={hrefOf(['operations', running.id])}>{projectionsText.runningOperation}</a>}
    >
      <p>
        <StateChip state={running.state} of="OPERATION" /> {projectionsText.applied(grouped(running.progress.scanned))}
      </p>
      {running.state === 'RUNNING' ? <progress aria-label={projectionsText.running} /> : null}
    </Section>
  )
}
