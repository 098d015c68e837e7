import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { lineDiff } from '../format/line-diff.ts'
import { text } from '../text/parts.ts'
import { Inert } from './bytes-view.tsx'

const marks = { same: ' ', removed: '−', added: '+' } as const

/** The lines that differ between two texts. */
export function DiffView({ before, after }: { readonly before: string; readonly after: string }): JSX.Element {
  const lines = useMemo(() => lineDiff(before, after), [before, after])
  const changed = lines.filter(({ kind }) => kind !== 'same').length
  if (changed === 0) return <p class="muted">{text.noDifference}</p>
  return (
    <pre class="payload diff" tabIndex={0} aria-label={text.changedLines(changed)}>
      {lines.map(({ kind, text: line }, at) => (
        <div key={at} class={`diff-${kind}`}>
          <span aria-label={kind === 'same' ? undefined : text.diffKinds[kind]}>{marks[kind]}</span>{' '}
          <Inert>{line}</Inert>
        </div>
      ))}
    </pre>
  )
}
