import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { useKeys } from '../../state/keys.ts'
import { textParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, open, urlState } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { outboxText } from '../../text/outbox.ts'
import { text } from '../../text/parts.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { ShortBytes } from '../../view/bytes-view.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Time } from '../../view/figures.tsx'
import { Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { type Column, focusedRowKey, Table } from '../../view/table.tsx'
import { DeadEventsDialog, type DeadEventsOperation } from './dead-events-dialog.tsx'

const { columns: titles } = outboxText
const params = { type: textParam(), cursor: textParam() }

/** The dead events of an outbox, by pages, with what can be done about all of them. */
export function DeadEvents({
  outbox,
  version,
  onReplay,
}: {
  readonly outbox: string
  readonly version: number
  readonly onReplay: (eventId: string) => void
}): JSX.Element {
  const url = urlState(params)
  const { type, cursor } = url.value
  const [asked, ask] = useState<DeadEventsOperation | undefined>(undefined)
  const request = {
    params: { outbox },
    query: { limit: 100, type: type === '' ? undefined : type, cursor: cursor === '' ? undefined : cursor },
  }
  const resource = useResource((signal) => call('listDeadEvents', request, { signal }), [outbox, version, type, cursor])
  const next = resource.value?.next ?? null
  useKeys(outboxText.dead, [
    {
      keys: 'r',
      label: outboxText.keys.replay,
      run: () => {
        const eventId = focusedRowKey()
        if (eventId !== undefined && may('outbox:replay', outbox).isAllowed) onReplay(eventId)
      },
    },
    {
      keys: ']',
      label: outboxText.keys.nextPage,
      run: () => {
        if (next !== null) open(url.href({ cursor: next }))
      },
    },
  ])
  return (
    <Section
      title={outboxText.dead}
      aside={
        <>
          <input
            type="search"
            class="filter"
            aria-label={outboxText.filterType}
            placeholder={outboxText.filterType}
            value={type}
            onInput={(event) => url.set({ type: event.currentTarget.value, cursor: '' })}
          />
          <ActionButton permit={may('outbox:replay', outbox)} onClick={() => ask('OUTBOX_REPLAY')}>
            {outboxText.replayAll}
          </ActionButton>
          <ActionButton permit={may('outbox:purge', outbox)} kind="danger" onClick={() => ask('OUTBOX_PURGE')}>
            {outboxText.purgeAll}
          </ActionButton>
          <CopyCurl route="listDeadEvents" request={request} />
        </>
      }
    >
      <ResourceView resource={resource}>
        {({ items }) => (
          <Table
            caption={outboxText.dead}
            hasKeys
            columns={columnsOf(outbox, onReplay)}
            rows={items}
            keyOf={({ eventId }) => eventId}
            empty={<Empty title={type === '' ? outboxText.noDead : outboxText.noDeadOfType} />}
            more={next === null ? undefined : <a href={url.href({ cursor: next })}>{text.more}</a>}
          />
        )}
      </ResourceView>
      {asked === undefined ? null : (
        <DeadEventsDialog
          outbox={outbox}
          operation={asked}
          eventType={type}
          onClose={() => {
            ask(undefined)
            resource.reload()
          }}
        />
      )}
    </Section>
  )
}

function columnsOf(outbox: string, onReplay: (eventId: string) => void): readonly Column<Schemas['DeadEvent']>[] {
  return [
    {
      id: 'seq',
      title: titles.seq,
      cell: ({ seq, eventId }) => <a href={hrefOf(['outbox', outbox, 'events', eventId])}>{seq}</a>,
    },
    { id: 'type', title: titles.type, cell: ({ eventType }) => eventType ?? '–' },
    { id: 'key', title: titles.key, cell: ({ aggregateId }) => <ShortBytes value={aggregateId} max={80} /> },
    { id: 'attempts', title: titles.attempts, align: 'end', cell: ({ attempts }) => attempts },
    { id: 'died', title: titles.died, cell: ({ diedAt }) => <Time at={diedAt} isRelative /> },
    {
      id: 'error',
      title: titles.error,
      className: 'event-error',
      cell: ({ lastError }) => <ShortBytes value={lastError} max={160} />,
    },
    {
      id: 'actions',
      title: titles.actions,
      className: 'row-actions',
      cell: ({ eventId }) => (
        <ActionButton
          permit={may('outbox:replay', outbox)}
          label={outboxText.replayOne(eventId)}
          onClick={() => onReplay(eventId)}
        >
          {outboxText.replay}
        </ActionButton>
      ),
    },
  ]
}
