import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { grouped } from '../../format/number.ts'
import { letterText } from '../../text/dead-letter.ts'
import { text } from '../../text/parts.ts'
import { Inert, ShortBytes } from '../../view/bytes-view.tsx'
import { Section } from '../../view/page-head.tsx'
import { Table } from '../../view/table.tsx'

type Header = Schemas['DeadLetterDetail']['headers'][number]

const pageSize = 50
const titles = letterText.headerColumns

/** Headers with their classes, a page at a time: a record may have thousands. */
export function HeaderTable({ headers }: { readonly headers: readonly Header[] }): JSX.Element {
  const [q, setQ] = useState('')
  const [page, setPage] = useState(0)
  const found = headers
    .map((header, at) => ({ ...header, at }))
    .filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()))
  const shown = found.slice(page * pageSize, (page + 1) * pageSize)
  const isLong = headers.length > pageSize
  return (
    <Section
      title={`${letterText.headers} ${grouped(headers.length)}`}
      aside={
        isLong ? (
          <input
            type="search"
            class="filter"
            aria-label={letterText.filterHeaders}
            placeholder={letterText.filterHeaders}
            value={q}
            onInput={(event) => {
              setQ(event.currentTarget.value)
              setPage(0)
            }}
          />
        ) : null
      }
    >
      <Table
        caption={letterText.headers}
        rows={shown}
        keyOf={({ at }) => String(at)}
        empty={<p class="muted">{letterText.noHeaders}</p>}
        columns={[
          {
            id: 'name',
            title: titles.name,
            className: 'header-name',
            cell: ({ name }) => (
              <code>
                <Inert>{name.slice(0, 200)}</Inert>
              </code>
            ),
          },
          {
            id: 'value',
            title: titles.value,
            className: 'header-value',
            cell: ({ value }) => <ShortBytes value={value} max={300} />,
          },
          {
            id: 'class',
            title: titles.class,
            cell: ({ class: of }) => (
              <span
                class={`header-class${of === 'SENSITIVE' ? ' tone-warn' : ' muted'}`}
                title={letterText.classHints[of]}
              >
                {letterText.classes[of] ?? of}
              </span>
            ),
          },
        ]}
        more={
          isLong ? (
            <span class="pager">
              <button type="button" disabled={page === 0} onClick={() => setPage(page - 1)}>
                {text.previous}
              </button>
              <span class="figure">
                {letterText.headersShown(
                  `${grouped(Math.min(found.length, page * pageSize + 1))}–${grouped(Math.min(found.length, (page + 1) * pageSize))}`,
                  grouped(found.length),
                )}
              </span>
              <button type="button" disabled={(page + 1) * pageSize >= found.length} onClick={() => setPage(page + 1)}>
                {text.next}
              </button>
            </span>
          ) : undefined
        }
      />
    </Section>
  )
}
