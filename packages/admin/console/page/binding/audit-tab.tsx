import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { countOf } from '../../format/number.ts'
import { useCommand } from '../../state/command.ts'
import { useResource } from '../../state/resource.ts'
import { may } from '../../state/session.ts'
import { bindingText } from '../../text/binding.ts'
import { text } from '../../text/parts.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { Empty } from '../../view/empty.tsx'
import { Figure } from '../../view/figures.tsx'
import { Section } from '../../view/page-head.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ReasonField } from '../../view/reason-field.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { Glyph } from '../../view/state-chip.tsx'
import { type Column, Table } from '../../view/table.tsx'

type AuditRow = Schemas['LossAuditRow']

const { auditColumn: titles } = bindingText
const auditMs = 15_000

/** Whether every record has an outcome, for each partition. */
export function AuditTab({ binding }: { readonly binding: string }): JSX.Element {
  const [lost, acknowledge] = useState<AuditRow | undefined>(undefined)
  const request = { params: { name: binding } }
  const audit = useResource((signal) => call('getLossAudit', request, { signal }), [binding], { everyMs: auditMs })
  return (
    <Section title={bindingText.audit} aside={<CopyCurl route="getLossAudit" request={request} />}>
      <ResourceView resource={audit} rows={6}>
        {({ items }) => (
          <>
            {items.length === 0 ? null : <Verdict rows={items} />}
            <Table
              caption={bindingText.audit}
              hasKeys
              rows={items}
              keyOf={placeOf}
              columns={columnsOf(binding, acknowledge)}
              empty={<Empty title={bindingText.noAudit} />}
            />
          </>
        )}
      </ResourceView>
      {lost === undefined ? null : (
        <AcknowledgeDialog
          binding={binding}
          row={lost}
          onClose={() => {
            acknowledge(undefined)
            audit.reload()
          }}
        />
      )}
    </Section>
  )
}

function placeOf({ topic, partition }: Pick<AuditRow, 'topic' | 'partition'>): string {
  return `${topic}:${partition}`
}

function isWhole({ problem, missing }: AuditRow): boolean {
  return problem === null && missing === '0'
}

function Verdict({ rows }: { readonly rows: readonly AuditRow[] }): JSX.Element {
  const broken = rows.filter((row) => !isWhole(row))
  const records = rows.reduce((sum, { committed, since }) => sum + BigInt(committed) - BigInt(since), 0n)
  return (
    <p class="verdict">
      {broken.length === 0 ? (
        <>
          <Glyph tone="ok">●</Glyph>{' '}
          {bindingText.accounted(countOf(rows.length, 'partition'), countOf(String(records), 'record'))}
        </>
      ) : (
        <>
          <Glyph tone="bad">✖</Glyph> {bindingText.unaccounted(countOf(broken.length, 'partition'))}
        </>
      )}{' '}
      <span class="muted">{bindingText.auditHint}</span>
    </p>
  )
}

function columnsOf(binding: string, acknowledge: (row: AuditRow) => void): readonly Column<AuditRow>[] {
  const figure = (id: keyof typeof titles & keyof AuditRow, hint?: string): Column<AuditRow> => ({
    id,
    title: titles[id],
    align: 'end',
    ...(hint === undefined ? {} : { hint }),
    cell: (row) => <Figure value={String(row[id])} />,
  })
  return [
    {
      id: 'partition',
      title: titles.partition,
      cell: ({ topic, partition }) => (
        <>
          <span class="figure">{partition}</span> <span class="muted">{topic}</span>
        </>
      ),
    },
    figure('since'),
    figure('committed'),
    figure('ok'),
    figure('retried'),
    figure('dead'),
    figure('skipped'),
    figure('holes', titles.holesHint),
    {
      id: 'ahead',
      title: titles.ahead,
      align: 'end',
      hint: titles.aheadHint,
      cell: ({ settledAbove }) => <Figure value={settledAbove} />,
    },
    figure('waiting'),
    {
      id: 'difference',
      title: titles.difference,
      className: 'wide',
      cell: (row) =>
        isWhole(row) ? (
          <span class="figure">0</span>
        ) : (
          <span class="loss">
            <Glyph tone="bad">✖</Glyph> {row.problem ?? bindingText.missing(countOf(row.missing, 'record'))}{' '}
            <ActionButton
              permit={may('losses:acknowledge', binding)}
              label={`${bindingText.acknowledge} ${placeOf(row)}`}
              onClick={() => acknowledge(row)}
            >
              {bindingText.acknowledge}
            </ActionButton>
          </span>
        ),
    },
  ]
}

function AcknowledgeDialog({
  binding,
  row,
  onClose,
}: {
  readonly binding: string
  readonly row: AuditRow
  readonly onClose: () => void
}): JSX.Element {
  const [reason, setReason] = useState('')
  const sending = useCommand('acknowledgeLosses')
  const { topic, partition } = row
  const send = async (): Promise<void> => {
    const answer = await sending.run({ params: { name: binding }, body: { topic, partition, reason } })
    if (answer !== undefined) onClose()
  }
  return (
    <Dialog title={bindingText.acknowledgeTitle(placeOf(row))} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <p>{bindingText.acknowledgeAbout}</p>
        <ReasonField value={reason} onInput={setReason} isRequired />
        {sending.problem === undefined ? null : <ProblemView problem={sending.problem} />}
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            {text.cancel}
          </button>
          <button type="submit" class="danger" aria-disabled={sending.isRunning}>
            {bindingText.acknowledgeSend}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
