import './audit.css'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { duration } from '../../format/time.ts'
import { live, wantTopic } from '../../state/live.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, urlState } from '../../state/router.ts'
import { auditText } from '../../text/audit.ts'
import { text } from '../../text/parts.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { CopyButton, CopyCurl } from '../../view/copy-button.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { Empty } from '../../view/empty.tsx'
import { Time } from '../../view/figures.tsx'
import { JsonView } from '../../view/json-view.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { saveFile } from '../../view/save-file.ts'
import { StateChip } from '../../view/state-chip.tsx'
import { type Column, Table } from '../../view/table.tsx'
import { AuditFilters } from './audit-filters.tsx'
import { auditParams, auditRequest, exportEntries } from './audit-query.ts'

type Entry = Schemas['AuditEntry']

const { column: titles } = auditText

/** Shows every change with its operator, reason and outcome. */
export default function AuditPage(): JSX.Element {
  const url = urlState(auditParams)
  const { cursor, entry, ...filter } = url.value
  useEffect(() => wantTopic('audit'), [])
  // An entry that came by the stream shows that the page is old.
  const newest = live.items.audit.value?.size
  const request = auditRequest(filter, cursor)
  const entries = useResource(
    (signal) => call('listAuditEntries', request, { signal }),
    [JSON.stringify(request), newest],
    { everyMs: 10_000 },
  )
  const isFiltered = Object.values(filter).some((value) => value !== '')
  const shown = entries.value?.items.find(({ id }) => id === entry)
  return (
    <>
      <PageHead title={auditText.title} actions={<Export filter={filter} />}>
        {auditText.about}
      </PageHead>
      <AuditFilters filter={filter} onChange={(change) => url.set({ ...change, cursor: '' })}>
        <CopyCurl route="listAuditEntries" request={request} />
      </AuditFilters>
      <ResourceView resource={entries} rows={8}>
        {({ items, next }) => (
          <Table
            caption={auditText.title}
            hasKeys
            rows={items}
            keyOf={({ id }) => id}
            columns={columnsOf((id) => url.href({ entry: id }))}
            empty={
              isFiltered ? (
                <Empty title={auditText.none} />
              ) : (
                <Empty title={auditText.noneYet}>
                  <p>{auditText.noneYetHint}</p>
                </Empty>
              )
            }
            more={next === null ? undefined : <a href={url.href({ cursor: next })}>{text.more}</a>}
          />
        )}
      </ResourceView>
      {shown === undefined ? null : <EntryDialog entry={shown} onClose={() => url.set({ entry: '' })} />}
    </>
  )
}

function columnsOf(hrefOfEntry: (id: string) => string): readonly Column<Entry>[] {
  return [
    {
      id: 'at',
      title: titles.at,
      cell: ({ id, at }) => (
        <a href={hrefOfEntry(id)}>
          <Time at={at} />
        </a>
      ),
    },
    { id: 'by', title: titles.by, cell: ({ by }) => <Inert>{by}</Inert> },
    { id: 'operation', title: titles.operation, cell: ({ operation }) => operation },
    { id: 'target', title: titles.target, cell: ({ target }) => <Target name={target} /> },
    {
      id: 'reason',
      title: titles.reason,
      className: 'wide',
      cell: ({ reason }) =>
        reason === null ? <span class="unknown">{auditText.noReason}</span> : <Inert>{reason}</Inert>,
    },
    {
      id: 'outcome',
      title: titles.outcome,
      cell: ({ outcome }) => <StateChip state={outcome} title={outcome === 'ASKED' ? auditText.asked : undefined} />,
    },
    {
      id: 'scope',
      title: titles.scope,
      cell: ({ scope, via }) => [via, scope].filter((one) => one !== null).join(' · '),
    },
  ]
}

function Target({ name }: { readonly name: string }): JSX.Element {
  const isBinding = live.items.binding.value?.has(name) === true
  return isBinding ? <a href={hrefOf(['bindings', name])}>{name}</a> : <Inert>{name}</Inert>
}

function EntryDialog({ entry, onClose }: { readonly entry: Entry; readonly onClose: () => void }): JSX.Element {
  const { id, at, endedAt, by, operation, target, reason, outcome, via, address, request, detail } = entry
  const took = endedAt === null ? undefined : Date.parse(endedAt) - Date.parse(at)
  return (
    <Dialog title={`${operation} ${target}`} onClose={onClose} isWide>
      <dl class="entry">
        <dt>{titles.outcome}</dt>
        <dd>
          <StateChip state={outcome}>{outcome === 'ASKED' ? auditText.asked : undefined}</StateChip>
        </dd>
        <dt>{titles.at}</dt>
        <dd>
          <Time at={at} isFull isRelative />
        </dd>
        <dt>{titles.by}</dt>
        <dd>
          <Inert>{by}</Inert>
        </dd>
        <dt>{titles.reason}</dt>
        <dd>
          <Inert>{reason ?? auditText.noReason}</Inert>
        </dd>
        {took === undefined ? null : (
          <>
            <dt>{auditText.took}</dt>
            <dd>{duration(took)}</dd>
          </>
        )}
        {via === null ? null : (
          <>
            <dt>{auditText.via}</dt>
            <dd>
              {via} <span class="muted">{address ?? ''}</span>
            </dd>
          </>
        )}
        <dt>{auditText.id}</dt>
        <dd>
          <code>{id}</code> <CopyButton text={id} label={`Copy ${id}`} />
        </dd>
      </dl>
      {request === null ? null : <JsonView title={auditText.request} value={request} />}
      {detail === null ? null : <JsonView title={auditText.detail} value={detail} />}
    </Dialog>
  )
}

function Export({ filter }: { readonly filter: Parameters<typeof exportEntries>[0] }): JSX.Element {
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const save = async (): Promise<void> => {
    try {
      setProblem(undefined)
      saveFile('audit.jsonl', await exportEntries(filter), 'application/jsonl')
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  return (
    <>
      {problem === undefined ? null : <ProblemView problem={problem} />}
      <button type="button" title={auditText.exportHint} onClick={() => void save()}>
        {auditText.export}
      </button>
    </>
  )
}
