import './overview.css'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { live } from '../../state/live.ts'
import { startRateHistory } from '../../state/rate-history.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf } from '../../state/router.ts'
import { overviewText } from '../../text/overview.ts'
import { type BindingCommand, CommandDialog } from '../../view/command-dialog.tsx'
import { Ago } from '../../view/figures.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'
import { BindingTable } from './binding-table.tsx'
import { FigureTiles } from './figure-tiles.tsx'
import { HealthPanel } from './health-panel.tsx'
import { readingsOf } from './thresholds.ts'

startRateHistory()

/** Shows health, figures and bindings, the most urgent first. */
export default function OverviewPage(): JSX.Element {
  const [asked, ask] = useState<{ readonly command: BindingCommand; readonly binding: string } | undefined>(undefined)
  const onCommand = (command: BindingCommand, binding: string): void => ask({ command, binding })
  // The stream has no thresholds: they are compared when they are asked for.
  const health = useResource((signal) => call('getHealth', {}, { signal }), [], { everyMs: 10_000 })
  const readings = readingsOf(health.value?.thresholds)
  return (
    <>
      <PageHead title={overviewText.title} />
      <HealthPanel readings={readings} onCommand={onCommand} />
      <FigureTiles readings={readings} />
      <BindingTable readings={readings} onCommand={onCommand} />
      <RunningOperations />
      {asked === undefined ? null : <CommandDialog {...asked} onClose={() => ask(undefined)} />}
    </>
  )
}

function RunningOperations(): JSX.Element | null {
  const operations = [...(live.items.operation.value?.values() ?? [])].filter(
    ({ state }) => state === 'RUNNING' || state === 'PAUSED',
  )
  if (operations.length === 0) return null
  return (
    <Section title={overviewText.operations} aside={<a href={hrefOf(['operations'])}>{overviewText.allOperations}</a>}>
      <Table
        caption={overviewText.operations}
        rows={operations}
        keyOf={({ id }) => id}
        columns={[
          {
            id: 'id',
            title: 'Id',
            cell: ({ id, type }) => (
              <a href={hrefOf(['operations', id])}>
                {type} <code>{id.slice(0, 11)}</code>
              </a>
            ),
          },
          { id: 'on', title: 'On', cell: (one) => subjectOf(one) },
          { id: 'state', title: 'State', cell: ({ state }) => <StateChip state={state} of="OPERATION" /> },
          { id: 'progress', title: 'Progress', cell: (one) => <Progress operation={one} /> },
          {
            id: 'by',
            title: 'By',
            cell: ({ by, startedAt }) => (
              <>
                {by}{' '}
                <span class="muted">
                  <Ago at={startedAt} />
                </span>
              </>
            ),
          },
        ]}
      />
    </Section>
  )
}

function subjectOf({ binding, outbox, projection }: Schemas['Operation']): string {
  return binding ?? outbox ?? projection ?? '–'
}

function Progress({ operation }: { readonly operation: Schemas['Operation'] }): JSX.Element {
  const { sent, remaining } = operation.progress
  const all = remaining === null ? null : Number(BigInt(sent) + BigInt(remaining))
  return (
    <span class="progress-line">
      {all === null ? null : (
        <progress max={Math.max(1, all)} value={Number(sent)} aria-label={overviewText.operations} />
      )}
      <span class="figure">
        {sent}
        {all === null ? '' : ` / ${all}`}
      </span>
    </span>
  )
}
