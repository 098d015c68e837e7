import type { JSX } from 'preact'
import { call } from '../../api/client.ts'
import { textParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { urlState } from '../../state/router.ts'
import { text } from '../../text/parts.ts'
import { projectionsText } from '../../text/projections.ts'
import { ShortBytes } from '../../view/bytes-view.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Figure, Time } from '../../view/figures.tsx'
import { Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { Table } from '../../view/table.tsx'

const { columns: titles } = projectionsText
const params = { cursor: textParam() }

/** The keys of a projection that wait for an event, by pages. */
export function Quarantine({ projection }: { readonly projection: string }): JSX.Element {
  const url = urlState(params)
  const { cursor } = url.value
  const request = {
    params: { name: projection },
    query: { limit: 100, cursor: cursor === '' ? undefined : cursor },
  }
  const resource = useResource((signal) => call('listQuarantine', request, { signal }), [projection, cursor])
  return (
    <Section title={projectionsText.quarantine} aside={<CopyCurl route="listQuarantine" request={request} />}>
      <ResourceView resource={resource}>
        {({ items, next }) => (
          <Table
            caption={projectionsText.quarantine}
            hasKeys
            rows={items}
            keyOf={(one) => `${one.since} ${JSON.stringify(one.key)}`}
            empty={<Empty title={projectionsText.noQuarantine} />}
            more={next === null ? undefined : <a href={url.href({ cursor: next })}>{text.more}</a>}
            columns={[
              { id: 'key', title: titles.key, cell: ({ key }) => <ShortBytes value={key} max={120} /> },
              {
                id: 'reason',
                title: titles.why,
                cell: ({ reason }) => (
                  <>
                    {reason}{' '}
                    <span class="muted">
                      {Object.hasOwn(projectionsText.reasons, reason) ? projectionsText.reasons[reason] : ''}
                    </span>
                  </>
                ),
              },
              {
                id: 'expected',
                title: titles.expected,
                align: 'end',
                cell: ({ expectedVersion }) => <Figure value={expectedVersion} />,
              },
              {
                id: 'found',
                title: titles.found,
                align: 'end',
                cell: ({ foundVersion }) => <Figure value={foundVersion} />,
              },
              {
                id: 'last',
                title: titles.last,
                align: 'end',
                cell: ({ lastVersion }) => <Figure value={lastVersion} />,
              },
              { id: 'since', title: titles.since, cell: ({ since }) => <Time at={since} isRelative /> },
            ]}
          />
        )}
      </ResourceView>
    </Section>
  )
}
