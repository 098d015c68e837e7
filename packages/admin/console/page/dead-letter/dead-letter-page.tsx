import './dead-letter.css'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { base, call } from '../../api/client.ts'
import { curlOf, wireRequest } from '../../api/request.ts'
import { useKeys } from '../../state/keys.ts'
import { wordParam } from '../../state/query-codec.ts'
import { useResource } from '../../state/resource.ts'
import { hrefOf, open, urlState } from '../../state/router.ts'
import { type Permit, sees } from '../../state/session.ts'
import { letterText } from '../../text/dead-letter.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { announce } from '../../view/announcer.tsx'
import { byteModes } from '../../view/bytes-view.tsx'
import { CopyButton, CopyCurl, copyText } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { StateChip, Tag } from '../../view/state-chip.tsx'
import { ReplayDialog } from '../failures/replay-dialog.tsx'
import type { PageProps } from '../pages.ts'
import { AttemptTimeline } from './attempt-timeline.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { ErrorView } from './error-view.tsx'
import { HeaderTable } from './header-table.tsx'
import { HistoryTable } from './history-table.tsx'
import { LetterFacts } from './letter-fact-line.tsx'
import { stepsOf } from './letter-facts.ts'
import { neighborOf } from './neighbor.ts'
import { PayloadView } from './payload-view.tsx'
import { ReleaseDialog } from './release-dialog.tsx'

type Letter = Schemas['DeadLetterDetail']
type Asked = 'REPLAY' | 'EDIT' | 'RELEASE'

const params = { view: wordParam(byteModes, 'decoded') }

/** One dead letter: how it died, what it holds, and what can be done with it. */
export default function DeadLetterPage({ params: { id = '' } }: PageProps): JSX.Element {
  const url = urlState(params)
  const [asked, ask] = useState<Asked | undefined>(undefined)
  const letter = useResource((signal) => call('getDeadLetter', { params: { id } }, { signal }), [id], {
    // Each reading of a payload is an entry of the audit log, so it is not repeated while nothing is done.
    everyMs: 0,
  })
  const binding = letter.value?.binding ?? undefined
  const waiting = useWaiting(binding)
  useLetterKeys(id, letter.value, ask)
  if (letter.problem?.status === 410) return <Gone id={id} detail={letter.problem.detail} />
  const { value } = letter
  return (
    <>
      <PageHead
        title={id}
        after={
          value === undefined ? null : (
            <>
              <StateChip state={value.state} /> <Tag>{value.reason}</Tag>
            </>
          )
        }
        actions={value === undefined ? undefined : <Actions letter={value} ask={ask} />}
      >
        {value === undefined ? '\u00a0' : <LetterFacts letter={value} waiting={waiting} />}
      </PageHead>
      <ResourceView resource={letter} rows={8}>
        {(shown) => (
          <div class="letter">
            <div class="letter-side">
              <Section title={letterText.attempts} aside={<span class="muted small">{letterText.attemptsHint}</span>}>
                <AttemptTimeline steps={stepsOf(shown)} />
              </Section>
              <Section title={letterText.error}>
                <ErrorView error={shown.error} />
              </Section>
              <HistoryTable letter={shown} />
            </div>
            <div class="letter-side">
              <PayloadView letter={shown} mode={url.value.view} onMode={(view) => url.set({ view })} />
              <HeaderTable headers={shown.headers} />
            </div>
          </div>
        )}
      </ResourceView>
      {value === undefined || asked === undefined ? null : (
        <AskedDialog
          asked={asked}
          letter={value}
          waiting={waiting}
          onClose={() => ask(undefined)}
          onChanged={letter.reload}
        />
      )}
    </>
  )
}

function AskedDialog({
  asked,
  letter,
  waiting,
  onClose,
  onChanged,
}: {
  readonly asked: Asked
  readonly letter: Letter
  readonly waiting: number | undefined
  readonly onClose: () => void
  readonly onChanged: () => void
}): JSX.Element {
  const { id, binding } = letter
  if (asked === 'EDIT') return <EditDialog letter={letter} onClose={onClose} onChanged={onChanged} />
  if (asked === 'RELEASE') return <ReleaseDialog id={id} binding={binding ?? ''} waiting={waiting} onClose={onClose} />
  return (
    <ReplayDialog
      selection={{ binding: binding ?? '', label: id, ids: [id], lastDiedAt: letter.deadAt }}
      onClose={onClose}
    />
  )
}

/** The server says which of them are possible, and why others are not. */
function permitOf(letter: Letter, action: string): Permit {
  const known = letter.actions[action]
  if (known?.allowed === true) return { isAllowed: true }
  return { isAllowed: false, because: known?.because ?? 'The server does not offer it.' }
}

function Actions({ letter, ask }: { readonly letter: Letter; readonly ask: (asked: Asked) => void }): JSX.Element {
  const { id } = letter
  return (
    <>
      <ActionButton kind="primary" permit={permitOf(letter, 'replay')} onClick={() => ask('REPLAY')}>
        {letterText.replay}
      </ActionButton>
      <ActionButton permit={permitOf(letter, 'edit')} onClick={() => ask('EDIT')}>
        {letterText.edit}
      </ActionButton>
      <ActionButton permit={permitOf(letter, 'release')} onClick={() => ask('RELEASE')}>
        {letterText.release}
      </ActionButton>
      <CopyButton text={id} label={letterText.copyId} />
      <CopyCurl route="getDeadLetter" request={{ params: { id } }} />
    </>
  )
}

function Gone({ id, detail }: { readonly id: string; readonly detail: string }): JSX.Element {
  return (
    <>
      <PageHead title={id} after={<StateChip state="GONE" />} />
      <Empty title={letterText.gone}>
        <p>{detail}</p>
        <p>
          <a href={hrefOf(['failures'])}>{letterText.toFailures}</a>
          {sees('audit:read') ? (
            <>
              {' · '}
              <a href={hrefOf(['audit'], { operation: 'PURGE' })}>{letterText.goneAudit}</a>
            </>
          ) : null}
        </p>
      </Empty>
    </>
  )
}

/** Records of the binding that wait behind failed ones of their keys; undefined without an order by key. */
function useWaiting(binding: string | undefined): number | undefined {
  const pipeline = useResource(
    (signal) =>
      binding === undefined || !sees('bindings:read')
        ? Promise.resolve(undefined)
        : call('getPipeline', { params: { name: binding } }, { signal }),
    [binding],
    { everyMs: 10_000 },
  )
  return pipeline.value?.waiting
}

async function copy(given: string): Promise<void> {
  await copyText(given)
  announce('Copied')
}

function useLetterKeys(id: string, letter: Letter | undefined, ask: (asked: Asked) => void): void {
  const step = async (by: 1 | -1): Promise<void> => {
    if (letter === undefined) return
    const next = await neighborOf(id, { group: letter.group }, by).catch(() => undefined)
    if (next === undefined) announce(letterText.end)
    else open(hrefOf(['dead-letters', next]), 'REPLACE')
  }
  const when = (action: string, asked: Asked): void => {
    if (letter !== undefined && permitOf(letter, action).isAllowed) ask(asked)
  }
  const { keys } = letterText
  useKeys(letterText.dead, [
    { keys: 'j', label: keys.next, run: () => void step(1) },
    { keys: 'k', label: keys.previous, run: () => void step(-1) },
    { keys: 'r', label: keys.replay, run: () => when('replay', 'REPLAY') },
    { keys: 'e', label: keys.edit, run: () => when('edit', 'EDIT') },
    { keys: 'y', label: keys.link, run: () => void copy(location.href) },
    {
      keys: 'c',
      label: keys.curl,
      run: () => void copy(curlOf(wireRequest('getDeadLetter', { params: { id } }), base.href)),
    },
    {
      keys: 'Escape',
      label: keys.back,
      run: () => {
        open(hrefOf(letter === undefined ? ['failures'] : ['failures', letter.group]))
      },
    },
  ])
}
