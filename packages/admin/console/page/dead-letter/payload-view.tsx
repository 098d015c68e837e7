import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { base } from '../../api/client.ts'
import { wireRequest } from '../../api/request.ts'
import { size } from '../../format/number.ts'
import { letterText } from '../../text/dead-letter.ts'
import { type ByteMode, BytesView } from '../../view/bytes-view.tsx'
import { Section } from '../../view/page-head.tsx'

/** The value, exactly. */
export function PayloadView({
  letter: { id, value },
  mode,
  onMode,
}: {
  readonly letter: Pick<Schemas['DeadLetterDetail'], 'id' | 'value'>
  readonly mode: ByteMode
  readonly onMode: (mode: ByteMode) => void
}): JSX.Element {
  const { path } = wireRequest('downloadDeadLetter', { params: { id }, query: { part: 'value' } })
  return (
    <Section
      title={letterText.payload}
      aside={
        value === null || 'hidden' in value ? null : (
          <a href={new URL(path, base).href} download>
            {letterText.download(size(value.bytes))}
          </a>
        )
      }
    >
      {value === null ? (
        <p class="muted">{letterText.nullValue}</p>
      ) : (
        <BytesView value={value} label={letterText.payload} mode={mode} onMode={onMode} />
      )}
    </Section>
  )
}
