import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf } from '../../state/router.ts'
import { operationText } from '../../text/operations.ts'
import { replayText } from '../../text/replay.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { Table } from '../../view/table.tsx'
import { Tabs } from '../../view/tabs.tsx'
import { isOver } from './operation-facts.ts'

/** The records that an operation keeps one by one. */
export const itemKinds = ['REFUSED', 'FAILED_AGAIN', 'MAY_REPEAT'] as const

/** One of them. */
export type ItemKind = (typeof itemKinds)[number]

const { itemColumns: titles } = operationText

/** Records that were refused, failed again, or may have been sent twice. */
export function ItemTable({
  operation,
  kind,
  hrefOf: tabHref,
}: {
  readonly operation: Schemas['Operation']
  readonly kind: ItemKind
  readonly hrefOf: (kind: ItemKind) => string
}): JSX.Element {
  const { id, binding } = operation
  const items = useResource(
    (signal) => call('listOperationItems', { params: { id }, query: { outcome: kind, limit: 100 } }, { signal }),
    [id, kind],
    { everyMs: isOver(operation) ? 15_000 : 5_000 },
  )
  return (
    <Section title={operationText.items}>
      <Tabs
        label={operationText.items}
        current={kind}
        hrefOf={tabHref}
        tabs={itemKinds.map((one) => ({
          id: one,
          title: operationText.itemTabs[one],
          count: countsOf(operation)[one],
        }))}
      />
      <ResourceView resource={items}>
        {(value) => (
          <Table
            caption={operationText.items}
            rows={value.items}
            keyOf={(one) => `${one.id} ${one.outcome}`}
            empty={<p class="muted">{operationText.noItems}</p>}
            columns={[
              {
                id: 'id',
                title: titles.id,
                cell: (one) =>
                  binding === null ? (
                    <code>
                      <Inert>{one.id}</Inert>
                    </code>
                  ) : (
                    <a href={hrefOf(['dead-letters', clusterId(binding, one.id)])}>
                      <code>
                        <Inert>{one.id}</Inert>
                      </code>
                    </a>
                  ),
              },
              {
                id: 'detail',
                title: titles.detail,
                cell: ({ detail }) => (
                  <span title={detail.slice(0, 500)}>
                    <Inert>{(replayText.refusals[detail] ?? detail).slice(0, 300)}</Inert>
                  </span>
                ),
              },
            ]}
          />
        )}
      </ResourceView>
    </Section>
  )
}

/** Returns the records that are worth a look first. */
export function firstItems(operation: Schemas['Operation']): ItemKind {
  const counts = countsOf(operation)
  return (['FAILED_AGAIN', 'REFUSED', 'MAY_REPEAT'] as const).find((kind) => counts[kind] !== '0') ?? 'REFUSED'
}

function countsOf({ progress, outcomes }: Schemas['Operation']): Readonly<Record<ItemKind, string>> {
  const refused = Object.values(progress.refused).reduce((sum, count) => sum + BigInt(count), 0n)
  return { REFUSED: String(refused), FAILED_AGAIN: outcomes.failedAgain, MAY_REPEAT: outcomes.mayBeRepeated }
}

/** Ids of items are positions in the cluster of their binding. */
function clusterId(binding: string, id: string): string {
  const at = binding.indexOf(':')
  return at === -1 ? id : `${binding.slice(0, at)}:${id}`
}
