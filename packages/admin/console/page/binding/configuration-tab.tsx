import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { duration } from '../../format/time.ts'
import { textParam } from '../../state/query-codec.ts'
import type { Resource } from '../../state/resource.ts'
import { urlState } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { bindingText } from '../../text/binding.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { Table } from '../../view/table.tsx'

const params = { option: textParam() }

/** Every option in effect. */
export function ConfigurationTab({
  binding,
  detail,
  onDestroy,
}: {
  readonly binding: string
  readonly detail: Resource<Schemas['BindingDetail']>
  readonly onDestroy: () => void
}): JSX.Element {
  const url = urlState(params)
  const { option } = url.value
  return (
    <Section
      title={bindingText.configuration}
      aside={
        <>
          <input
            type="search"
            class="filter"
            aria-label={bindingText.searchOptions}
            placeholder={bindingText.search}
            value={option}
            onInput={(event) => url.set({ option: event.currentTarget.value })}
          />
          <CopyCurl route="getBindingConfiguration" request={{ params: { name: binding } }} />
        </>
      }
    >
      <ResourceView resource={detail} rows={8}>
        {({ configuration }) => (
          <Table
            caption={bindingText.configuration}
            hasKeys
            rows={Object.entries(configuration).filter(([name, value]) =>
              `${name} ${textOf(value)}`.toLowerCase().includes(option.toLowerCase()),
            )}
            keyOf={([name]) => name}
            empty={<Empty title={bindingText.noOption} />}
            columns={[
              { id: 'name', title: bindingText.option, cell: ([name]) => <code>{name}</code> },
              {
                id: 'value',
                title: bindingText.value,
                className: 'wide',
                cell: ([name, value]) => <Value name={name} value={value} />,
              },
            ]}
          />
        )}
      </ResourceView>
      <p class="danger-zone">
        <ActionButton permit={may('bindings:register', binding)} kind="danger" onClick={onDestroy}>
          {bindingText.destroy}
        </ActionButton>
        <span class="muted">{bindingText.destroyAbout}</span>
      </p>
    </Section>
  )
}

function Value({ name, value }: { readonly name: string; readonly value: unknown }): JSX.Element {
  const isDuration = typeof value === 'number' && name.endsWith('Ms') && value >= 1_000
  return (
    <>
      <code>{textOf(value)}</code>
      {isDuration ? <span class="muted"> {duration(value)}</span> : null}
    </>
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '–')
}
