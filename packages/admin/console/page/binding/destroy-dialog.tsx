import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCommand } from '../../state/command.ts'
import { hrefOf, open } from '../../state/router.ts'
import { bindingText } from '../../text/binding.ts'
import { text } from '../../text/parts.ts'
import { Dialog } from '../../view/dialog.tsx'
import { ProblemView } from '../../view/problem-view.tsx'
import { ReasonField, TypedName } from '../../view/typed-name.tsx'

/** Destroys a binding after its name was typed. */
export function DestroyDialog({
  binding,
  onClose,
}: {
  readonly binding: string
  readonly onClose: () => void
}): JSX.Element {
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const destroying = useCommand('destroyBinding')
  const mayDestroy = typed === binding && reason.trim() !== ''
  const send = async (): Promise<void> => {
    const answer = await destroying.run({ params: { name: binding } }, reason)
    if (answer !== undefined) open(hrefOf([]))
  }
  return (
    <Dialog title={bindingText.destroyTitle(binding)} onClose={onClose}>
      <p>{bindingText.destroyAbout}</p>
      <ReasonField value={reason} onInput={setReason} isRequired />
      <TypedName label={bindingText.typeName(binding)} value={typed} onInput={setTyped} />
      {destroying.problem === undefined ? null : <ProblemView problem={destroying.problem} />}
      <div class="dialog-actions">
        <button type="button" autofocus onClick={onClose}>
          {text.cancel}
        </button>
        <button
          type="button"
          class="danger"
          aria-disabled={!mayDestroy || destroying.isRunning}
          onClick={() => {
            if (mayDestroy) void send()
          }}
        >
          {bindingText.destroySend}
        </button>
      </div>
    </Dialog>
  )
}
