import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../api/api-types.ts'
import { type Command, useCommand } from '../state/command.ts'
import { live } from '../state/live.ts'
import { me } from '../state/session.ts'
import { commandText } from '../text/command.ts'
import { text } from '../text/parts.ts'
import { announce } from './announcer.tsx'
import { CopyCurl } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { ProblemView } from './problem-view.tsx'
import { ReasonField } from './reason-field.tsx'
import { StateChip } from './state-chip.tsx'
import { Table } from './table.tsx'

/** A command to a binding. */
export type BindingCommand = 'start' | 'stop' | 'pause' | 'resume'

const routes = { start: 'startBinding', stop: 'stopBinding', pause: 'pauseBinding', resume: 'resumeBinding' } as const

/** The next sensible command. */
export function commandFor({ state, pausedBy }: Pick<Schemas['Binding'], 'state' | 'pausedBy'>): BindingCommand {
  if (state === 'CREATED' || state === 'STOPPED') return 'start'
  return pausedBy.includes('OPERATOR') ? 'resume' : 'pause'
}

/** Asks for a reason and sends a command. Enter sends. It closes by itself when all instances have followed. */
export function CommandDialog({
  command,
  binding,
  onClose,
}: {
  readonly command: BindingCommand
  readonly binding: string
  readonly onClose: () => void
}): JSX.Element {
  const sending = useCommand(routes[command])
  const [reason, setReason] = useState('')
  const isRequired = me.value?.requireReason === 'ALWAYS'
  const request = { params: { name: binding }, body: reason === '' ? {} : { reason } }
  const send = async (): Promise<void> => {
    const answer = await sending.run(request)
    if (answer === undefined) return
    announce(`${commandText.title[command](binding)}: ${answer.outcome}`)
    if (answer.outcome === 'APPLIED') onClose()
  }
  const instances = live.items.binding.value?.get(binding)?.instances.alive ?? 1
  return (
    <Dialog title={commandText.title[command](binding)} onClose={onClose}>
      {sending.answer === undefined ? (
        <form
          method="dialog"
          onSubmit={(event) => {
            event.preventDefault()
            void send()
          }}
        >
          <p>{commandText.about[command]}</p>
          <p class="muted">{commandText.reach(me.value?.scope ?? 'INSTANCE', instances)}</p>
          <ReasonField value={reason} isRequired={isRequired} isFocused onInput={setReason} />
          {sending.problem === undefined ? null : <ProblemView problem={sending.problem} />}
          <div class="dialog-actions">
            <CopyCurl route={routes[command]} request={request} />
            <button type="button" onClick={onClose}>
              {text.cancel}
            </button>
            <button type="submit" class="primary" aria-disabled={sending.isRunning}>
              {commandText.send[command]}
            </button>
          </div>
        </form>
      ) : (
        <Answer answer={sending.answer} onClose={onClose} />
      )}
    </Dialog>
  )
}

type CommandAnswer = NonNullable<Command<'pauseBinding'>['answer']>

function Answer({ answer, onClose }: { readonly answer: CommandAnswer; readonly onClose: () => void }): JSX.Element {
  return (
    <>
      <p>{commandText.outcome[answer.outcome] ?? answer.outcome}</p>
      <Table
        caption={commandText.instance}
        keyOf={({ instance }) => instance}
        rows={answer.instances}
        columns={[
          { id: 'instance', title: commandText.instance, cell: ({ instance }) => instance },
          { id: 'outcome', title: commandText.answer, cell: ({ outcome }) => <StateChip state={outcome} /> },
          { id: 'state', title: commandText.state, cell: ({ state, error }) => error?.message ?? state ?? '–' },
        ]}
      />
      <div class="dialog-actions">
        <button type="button" class="primary" onClick={onClose}>
          {commandText.done}
        </button>
      </div>
    </>
  )
}
