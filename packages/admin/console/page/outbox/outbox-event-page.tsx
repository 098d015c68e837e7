import './outbox.css'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { useKeys } from '../../state/keys.ts'
import { wordParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, urlState } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { outboxText } from '../../text/outbox.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { BytesView, byteModes, Inert, ShortBytes } from '../../view/bytes-view.tsx'
import { CopyButton, CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Fact } from '../../view/fact.tsx'
import { Time } from '../../view/figures.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'
import type { PageProps } from '../pages.ts'
import { ReplayEventDialog } from './replay-event-dialog.tsx'

const { fields } = outboxText
const params = { view: wordParam(byteModes, 'decoded') }

/** The row of one event, with its exact payload. */
export default function OutboxEventPage({ params: { outbox = '', eventId = '' } }: PageProps): JSX.Element {
  const request = { params: { outbox, eventId } }
  // Reading a payload is audited: it is read once, not every few seconds.
  const resource = useResource((signal) => call('getOutboxEvent', request, { signal }), [outbox, eventId], {
    everyMs: 0,
  })
  const [isAsked, ask] = useState(false)
  const { value } = resource
  const isDead = value?.status === 'DEAD'
  const permit = may('outbox:replay', outbox)
  useKeys(
    outboxText.event,
    isDead && permit.isAllowed ? [{ keys: 'r', label: outboxText.replay, run: () => ask(true) }] : [],
  )
  return (
    <>
      <PageHead
        title={value?.eventType ?? outboxText.event}
        after={value === undefined ? null : <StateChip state={value.status} />}
        actions={
          <>
            {isDead ? (
              <ActionButton permit={permit} kind="primary" onClick={() => ask(true)}>
                {outboxText.replay}
              </ActionButton>
            ) : null}
            <CopyCurl route="getOutboxEvent" request={request} />
          </>
        }
      >
        <a href={hrefOf(['outbox', outbox])}>{outboxText.backTo(outbox)}</a> · <code>{eventId}</code>{' '}
        <CopyButton text={eventId} label={outboxText.copyId(eventId)} />
      </PageHead>
      <ResourceView resource={resource}>{(event) => <Row event={event} />}</ResourceView>
      {isAsked ? (
        <ReplayEventDialog
          outbox={outbox}
          eventId={eventId}
          onClose={() => {
            ask(false)
            resource.reload()
          }}
        />
      ) : null}
    </>
  )
}

function Row({ event }: { readonly event: Schemas['OutboxEvent'] }): JSX.Element {
  const url = urlState(params)
  const { lastError, failureType, payload, headers } = event
  return (
    <>
      <dl class="facts">
        <Fact name={fields.sequence}>{event.seq}</Fact>
        <Fact name={fields.key}>
          {event.aggregateType ?? '–'} <ShortBytes value={event.aggregateId} />
        </Fact>
        <Fact name={fields.attempts}>{event.attempts}</Fact>
        <Fact name={fields.created}>
          <Time at={event.createdAt} isRelative />
        </Fact>
        <Fact name={fields.occurred}>
          <Time at={event.occurredAt} />
        </Fact>
        <Fact name={fields.available}>
          <Time at={event.availableAt} isRelative />
        </Fact>
        {event.diedAt === null ? null : (
          <Fact name={fields.died}>
            <Time at={event.diedAt} isRelative />
          </Fact>
        )}
        {event.tenantId === null ? null : (
          <Fact name={fields.tenant}>
            <Inert>{event.tenantId}</Inert>
          </Fact>
        )}
      </dl>
      {lastError === null ? null : (
        <Section title={outboxText.columns.error} aside={<FailureType type={failureType} />}>
          <pre class="payload wrap" tabIndex={0}>
            <ShortBytes value={lastError} max={20_000} />
          </pre>
        </Section>
      )}
      <Section title={outboxText.payload}>
        {payload === null ? (
          <Empty title={outboxText.noPayload} />
        ) : (
          <BytesView
            value={payload}
            label={outboxText.payload}
            mode={url.value.view}
            onMode={(view) => url.set({ view })}
          />
        )}
      </Section>
      <Section title={outboxText.headers}>
        <Table
          caption={outboxText.headers}
          rows={headers}
          keyOf={({ name }) => name}
          empty={<Empty title={outboxText.noHeaders} />}
          columns={[
            { id: 'name', title: outboxText.header, cell: ({ name }) => <Inert>{name}</Inert> },
            { id: 'value', title: outboxText.value, cell: ({ value }) => <ShortBytes value={value} /> },
          ]}
        />
      </Section>
    </>
  )
}

function FailureType({ type }: { readonly type: string | null }): JSX.Element | null {
  if (type === null) return null
  const meaning = Object.hasOwn(outboxText.failureTypes, type) ? outboxText.failureTypes[type] : undefined
  return (
    <span class="muted">
      {type}
      {meaning === undefined ? '' : ` · ${meaning}`}
    </span>
  )
}
