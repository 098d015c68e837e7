import './outbox.css'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { compact, grouped } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { useResource } from '../../state/resource.ts'
import { outboxText } from '../../text/outbox.ts'
import { CopyCurl } from '../../view/copy-button.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'
import { Tile } from '../../view/tile.tsx'
import type { PageProps } from '../pages.ts'
import { Blockers } from './blockers.tsx'
import { DeadEvents } from './dead-events.tsx'
import { ModeTag } from './outbox-figures.tsx'
import { OutboxReasons } from './outbox-reasons.tsx'
import { ReplayEventDialog } from './replay-event-dialog.tsx'

type Detail = Schemas['OutboxDetail']

const { columns: titles } = outboxText

/** One outbox: what waits, what holds it up, and what is dead. */
export default function OutboxPage({ params }: PageProps): JSX.Element {
  const { outbox = '' } = params
  const resource = useResource((signal) => call('getOutbox', { params: { outbox } }, { signal }), [outbox])
  const [replayed, replay] = useState<string | undefined>(undefined)
  const [version, setVersion] = useState(0)
  const { value } = resource
  return (
    <>
      <PageHead
        title={outbox}
        after={
          value === undefined ? null : (
            <>
              {value.health === null ? null : <StateChip state={value.health.status} />} <ModeTag mode={value.mode} />
            </>
          )
        }
        actions={<CopyCurl route="getOutbox" request={{ params: { outbox } }} />}
      >
        {outboxText.about}
      </PageHead>
      <ResourceView resource={resource}>
        {(detail) => (
          <>
            <OutboxReasons health={detail.health} />
            <Figures detail={detail} />
          </>
        )}
      </ResourceView>
      <Blockers outbox={outbox} version={version} onReplay={replay} />
      <DeadEvents outbox={outbox} version={version} onReplay={replay} />
      {value === undefined || value.nodes.length === 0 ? null : <Nodes detail={value} />}
      {replayed === undefined ? null : (
        <ReplayEventDialog
          outbox={outbox}
          eventId={replayed}
          onClose={() => {
            replay(undefined)
            setVersion(version + 1)
            resource.reload()
          }}
        />
      )}
    </>
  )
}

function perSecond(value: number | null): string {
  return value === null ? '–' : compact(value)
}

function Figures({ detail: { backlog, dead, rates } }: { readonly detail: Detail }): JSX.Element {
  const waiting = backlog.more ? outboxText.atLeast(grouped(backlog.pending)) : grouped(backlog.pending)
  return (
    <div class="tiles">
      <Tile title={titles.pending} hint={outboxText.hints.pending} value={waiting} />
      <Tile
        title={titles.retrying}
        hint={outboxText.hints.retrying}
        value={grouped(backlog.retrying)}
        tone={backlog.retrying === '0' ? undefined : 'warn'}
      />
      <Tile title={titles.oldest} hint={outboxText.hints.oldest} value={duration(backlog.oldestAgeMs)} />
      <Tile
        title={titles.dead}
        hint={outboxText.deadHint}
        value={grouped(dead)}
        tone={dead === '0' ? undefined : 'bad'}
      />
      <Tile
        title={titles.rate}
        hint={outboxText.hints.rate}
        value={perSecond(rates.successPerSecond)}
        unit={rates.successPerSecond === null ? '' : '/s'}
        more={rates.failurePerSecond === null ? undefined : outboxText.failing(compact(rates.failurePerSecond))}
      />
    </div>
  )
}

function Nodes({ detail: { nodes, shards } }: { readonly detail: Detail }): JSX.Element {
  const ownedBy = (owner: string): string =>
    shards
      .filter((one) => one.owner === owner)
      .map(({ shard }) => shard)
      .toSorted((one, other) => one - other)
      .join(' ')
  return (
    <Section title={outboxText.shardsOf}>
      <Table
        caption={outboxText.shardsOf}
        rows={nodes}
        keyOf={({ owner }) => owner}
        columns={[
          { id: 'owner', title: titles.nodes, cell: ({ owner }) => <code>{owner}</code> },
          { id: 'count', title: outboxText.shardCount, align: 'end', cell: ({ shards: count }) => count },
          { id: 'shards', title: outboxText.shardNumbers, className: 'shards', cell: ({ owner }) => ownedBy(owner) },
        ]}
      />
    </Section>
  )
}
