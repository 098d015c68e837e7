import type { JSX } from 'preact'
import { call } from '../../api/client.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf } from '../../state/router.ts'
import { topicsText } from '../../text/topics.ts'
import { Empty } from '../../view/empty.tsx'
import { Figure } from '../../view/figures.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'

const { groupColumn: titles } = topicsText

/** The consumer groups of bindings, and of other programs on their topics. */
export function GroupTable(): JSX.Element {
  const groups = useResource((signal) => call('listGroups', {}, { signal }), [], { everyMs: 10_000 })
  return (
    <ResourceView resource={groups} rows={4}>
      {({ items }) => (
        <Table
          caption={topicsText.groups}
          rows={items}
          keyOf={({ cluster, groupId }) => `${cluster} ${groupId}`}
          empty={
            <Empty title={topicsText.noGroups}>
              <p>{topicsText.noGroupsHint}</p>
            </Empty>
          }
          columns={[
            {
              id: 'group',
              title: titles.group,
              cell: ({ groupId, cluster }) => (
                <a href={hrefOf(['groups', groupId], cluster === 'default' ? {} : { cluster })}>{groupId}</a>
              ),
            },
            {
              id: 'binding',
              title: titles.binding,
              cell: ({ binding }) =>
                binding === null ? (
                  <span class="muted">{topicsText.otherProgram}</span>
                ) : (
                  <a href={hrefOf(['bindings', binding])}>{binding}</a>
                ),
            },
            { id: 'state', title: titles.state, cell: ({ state }) => <StateChip state={state.toUpperCase()} /> },
            { id: 'type', title: titles.type, cell: ({ type }) => type },
            { id: 'members', title: titles.members, align: 'end', cell: ({ members }) => <Figure value={members} /> },
          ]}
        />
      )}
    </ResourceView>
  )
}
