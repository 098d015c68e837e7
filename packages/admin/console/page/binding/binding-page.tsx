import './binding.css'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { useKeys } from '../../state/keys.ts'
import { live } from '../../state/live.ts'
import { wordParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, open, urlState } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { bindingText } from '../../text/binding.ts'
import { overviewText } from '../../text/overview.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { type BindingCommand, CommandDialog, commandFor } from '../../view/command-dialog.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { Loading } from '../../view/resource-view.tsx'
import { Sentence } from '../../view/sentence.tsx'
import { Glyph, StateChip } from '../../view/state-chip.tsx'
import { Tabs } from '../../view/tabs.tsx'
import type { PageProps } from '../pages.ts'
import { AuditTab } from './audit-tab.tsx'
import { ConfigurationTab } from './configuration-tab.tsx'
import { DestroyDialog } from './destroy-dialog.tsx'
import { PartitionsTab } from './partitions-tab.tsx'
import { PipelineTab } from './pipeline-tab.tsx'
import { PositionsDialog } from './positions-dialog.tsx'

const tabs = ['pipeline', 'partitions', 'configuration', 'audit'] as const
const params = { tab: wordParam(tabs, 'pipeline') }
type Asked = BindingCommand | 'positions' | 'destroy'

/** A binding: how its records flow, who reads them, how it is set, and whether all are accounted for. */
export default function BindingPage({ params: { key = '' } }: PageProps): JSX.Element {
  const [asked, ask] = useState<Asked | undefined>(undefined)
  const detail = useResource((signal) => call('getBinding', { params: { name: key } }, { signal }), [key])
  const url = urlState(params)
  const { tab } = url.value
  const binding = live.items.binding.value?.get(key) ?? detail.value
  const close = (): void => ask(undefined)
  useKeys(bindingText.keysTitle, [
    ...tabs.map((id, at) => ({
      keys: String(at + 1),
      label: bindingText.keys.tab(bindingText.tabs[id]),
      run: () => url.set({ tab: id }, 'PUSH'),
    })),
    {
      keys: 'p',
      label: bindingText.keys.pause,
      run: () => {
        if (binding !== undefined && may('bindings:operate', key).isAllowed) ask(commandFor(binding))
      },
    },
    { keys: 'f', label: bindingText.keys.failures, run: () => open(hrefOf(['failures'], { binding: key })) },
  ])
  return (
    <>
      <PageHead
        title={key}
        after={
          binding === undefined ? null : (
            <>
              <StateChip state={binding.state}>
                {binding.pausedBy.length === 0 ? undefined : overviewText.pausedBy(binding.pausedBy.join(', '))}
              </StateChip>
              <span>
                <span class="muted">{bindingText.breaker}</span>{' '}
                <StateChip state={binding.breaker.state} of="BREAKER" />
              </span>
            </>
          )
        }
        actions={binding === undefined ? null : <Actions binding={binding} ask={ask} />}
      >
        {binding === undefined ? null : bindingText.route(binding.topics.join(', '), binding.groupId)}
      </PageHead>
      {detail.problem !== undefined && detail.value === undefined ? (
        <ProblemView problem={detail.problem} onRetry={detail.reload} />
      ) : binding === undefined ? (
        // The tabs of an unknown binding would fail beside the binding itself.
        <Loading />
      ) : (
        <>
          <Findings findings={detail.value?.findings ?? []} />
          <Tabs
            label={bindingText.tabsLabel}
            tabs={tabs.map((id) => ({ id, title: bindingText.tabs[id] }))}
            current={tab}
            hrefOf={(id) => hrefOf(['bindings', key], id === 'pipeline' ? {} : { tab: id })}
          />
          {tab === 'pipeline' ? <PipelineTab binding={key} detail={detail} /> : null}
          {tab === 'partitions' ? <PartitionsTab binding={key} /> : null}
          {tab === 'configuration' ? (
            <ConfigurationTab binding={key} detail={detail} onDestroy={() => ask('destroy')} />
          ) : null}
          {tab === 'audit' ? <AuditTab binding={key} /> : null}
        </>
      )}
      {asked === 'positions' ? <PositionsDialog binding={key} onClose={close} /> : null}
      {asked === 'destroy' ? <DestroyDialog binding={key} onClose={close} /> : null}
      {asked === undefined || asked === 'positions' || asked === 'destroy' ? null : (
        <CommandDialog command={asked} binding={key} onClose={close} />
      )}
    </>
  )
}

function Actions({
  binding,
  ask,
}: {
  readonly binding: { readonly key: string; readonly state: string; readonly pausedBy: readonly string[] }
  readonly ask: (asked: Asked) => void
}): JSX.Element {
  const { key, state } = binding
  const command = commandFor(binding)
  return (
    <>
      <ActionButton permit={may('bindings:operate', key)} onClick={() => ask(command)}>
        {overviewText[command]}
      </ActionButton>
      {state === 'RUNNING' || state === 'PAUSED' ? (
        <ActionButton permit={may('bindings:operate', key)} onClick={() => ask('stop')}>
          {overviewText.stop}
        </ActionButton>
      ) : null}
      <ActionButton permit={may('bindings:position', key)} onClick={() => ask('positions')}>
        {bindingText.positions}
      </ActionButton>
    </>
  )
}

function Findings({ findings }: { readonly findings: readonly string[] }): JSX.Element | null {
  if (findings.length === 0) return null
  return (
    <ul class="findings">
      {findings.map((finding) => (
        <li key={finding}>
          <Glyph tone="warn">▲</Glyph> <Sentence text={finding} />
        </li>
      ))}
    </ul>
  )
}
