import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCommand } from '../../state/command.ts'
import { hrefOf, open } from '../../state/router.ts'
import { bindingText } from '../../text/binding.ts'
import { DangerDialog } from '../../view/danger-dialog.tsx'
import { TypedName } from '../../view/typed-name.tsx'

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
  const send = async (): Promise<void> => {
    const answer = await destroying.run({ params: { name: binding } }, reason)
    if (answer !== undefined) open(hrefOf([]))
  }
  return (
    <DangerDialog
      title={bindingText.destroyTitle(binding)}
      reason={reason}
      isReasonRequired
      onReason={setReason}
      after={<TypedName label={bindingText.typeName(binding)} value={typed} onInput={setTyped} />}
      send={{
        label: bindingText.destroySend,
        off: typed === binding ? undefined : bindingText.typeName(binding),
        isRunning: destroying.isRunning,
        run: send,
      }}
      problem={destroying.problem}
      onClose={onClose}
    >
      <p>{bindingText.destroyAbout}</p>
    </DangerDialog>
  )
}
