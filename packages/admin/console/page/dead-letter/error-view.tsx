import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { letterText } from '../../text/dead-letter.ts'
import { HiddenBytes, Inert } from '../../view/bytes-view.tsx'
import { CopyButton } from '../../view/copy-button.tsx'
import { mainLines, stackLines } from './stack-lines.ts'

const maxMessage = 4_000

/** The error of a dead letter: its own frames first. */
export function ErrorView({ error }: { readonly error: Schemas['DeadLetterDetail']['error'] }): JSX.Element {
  const [isAll, setAll] = useState(false)
  const { message, stack } = error
  const shown = stack !== null && 'text' in stack && stack.encoding === 'utf8' ? stack.text : ''
  const lines = useMemo(() => stackLines(shown), [shown])
  const main = mainLines(lines)
  return (
    <>
      <p class="error-line">
        <strong>
          <Inert>{error.class.slice(0, 300)}</Inert>
        </strong>{' '}
        {message === null ? null : 'hidden' in message ? (
          <HiddenBytes bytes={message.bytes} />
        ) : (
          <Inert>{message.text.slice(0, maxMessage)}</Inert>
        )}
      </p>
      {stack !== null && 'hidden' in stack ? <HiddenBytes bytes={stack.bytes} /> : null}
      {stack === null ? <p class="muted">{letterText.noStack}</p> : null}
      {lines.length === 0 || shown === '' ? null : (
        <>
          <pre class="payload stack" tabIndex={0} aria-label={letterText.error}>
            {(isAll ? lines : main).map(({ text, kind }, at) => (
              <div key={at} class={`stack-${kind.toLowerCase()}`}>
                {kind === 'OWN' ? (
                  <span class="own-mark" title={letterText.ownFrame}>
                    → <span class="visually-hidden">{letterText.ownFrame} </span>
                  </span>
                ) : null}
                <Inert>{kind === 'OWN' ? text.trimStart() : text}</Inert>
              </div>
            ))}
          </pre>
          <p class="inline-fields">
            {lines.length > main.length ? (
              <button type="button" class="quiet" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
                {isAll ? letterText.fewerFrames : letterText.moreFrames(lines.length - main.length)}
              </button>
            ) : null}
            <CopyButton text={shown} label="Copy the stack">
              Copy
            </CopyButton>
          </p>
        </>
      )}
    </>
  )
}
