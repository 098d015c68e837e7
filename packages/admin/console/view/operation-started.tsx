import type { JSX } from 'preact'
import { hrefOf } from '../state/router.ts'
import { text } from '../text/parts.ts'

/** The end of a dialog that started an operation: where to follow it. */
export function OperationStarted({ id, onClose }: { readonly id: string; readonly onClose: () => void }): JSX.Element {
  return (
    <>
      <p role="status">
        {text.started}: <a href={hrefOf(['operations', id])}>{id}</a>
      </p>
      <div class="dialog-actions">
        <button type="button" class="primary" autofocus onClick={onClose}>
          {text.close}
        </button>
      </div>
    </>
  )
}
