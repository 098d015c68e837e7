import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { editText, letterText } from '../../text/dead-letter.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { type EditableHeader, type EditDraft, editableHeaders } from './edit-draft.ts'

/** The headers of an edit: those that may change are fields, the locked ones are counted. */
export function EditHeaders({
  letter,
  draft,
  set,
}: {
  readonly letter: Schemas['DeadLetterDetail']
  readonly draft: EditDraft
  readonly set: (change: Partial<EditDraft>) => void
}): JSX.Element {
  const [name, setName] = useState('')
  const given = editableHeaders(letter)
  const added = Object.keys(draft.set).filter((one) => given.every((header) => header.name !== one))
  const locked = letter.headers.filter((header) => header.class === 'LOCKED').length
  const toggle = (one: string): void =>
    set({
      removed: draft.removed.includes(one) ? draft.removed.filter((other) => other !== one) : [...draft.removed, one],
    })
  const add = (): void => {
    if (name.trim() === '') return
    set({ set: { ...draft.set, [name.trim()]: '' } })
    setName('')
  }
  const rows: readonly EditableHeader[] = [
    ...given,
    ...added.map((one) => ({ name: one, isSensitive: false, text: '' })),
  ]
  return (
    <details class="edit-headers" open={rows.length > 0 && rows.length <= 5}>
      <summary>
        {editText.headers} <span class="muted">{editText.lockedHeaders(locked)}</span>
      </summary>
      {rows.map((header) => (
        <div key={header.name} class="edit-header">
          <code title={header.name.slice(0, 300)}>
            {header.isSensitive ? (
              <span class="tone-warn" title={letterText.classHints['SENSITIVE']}>
                !{' '}
              </span>
            ) : null}
            <Inert>{header.name.slice(0, 60)}</Inert>
          </code>
          {draft.removed.includes(header.name) ? (
            <span class="muted">{editText.removed}</span>
          ) : (
            <input
              aria-label={header.name.slice(0, 100)}
              autocomplete="off"
              spellcheck={false}
              disabled={header.text === undefined}
              value={draft.set[header.name] ?? header.text ?? ''}
              onInput={(event) => set({ set: { ...draft.set, [header.name]: event.currentTarget.value } })}
            />
          )}
          <button
            type="button"
            class="quiet"
            aria-label={
              draft.removed.includes(header.name)
                ? editText.keepHeader(header.name.slice(0, 100))
                : editText.removeHeader(header.name.slice(0, 100))
            }
            onClick={() => toggle(header.name)}
          >
            {draft.removed.includes(header.name) ? '↺' : '✕'}
          </button>
        </div>
      ))}
      <div class="edit-header">
        <input
          aria-label={editText.newHeader}
          placeholder={editText.newHeader}
          autocomplete="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') add()
          }}
        />
        <button type="button" onClick={add}>
          +
        </button>
      </div>
    </details>
  )
}
