import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { grouped } from '../../format/number.ts'
import { failuresText } from '../../text/failures.ts'
import { Glyph, Tag } from '../../view/state-chip.tsx'

/** Where the list comes from, and how far it has read: an old answer is never shown as a new one. */
export function SourceLine({
  source: { mode, lagRecords, leftOut, unreadClusters },
}: {
  readonly source: Schemas['DeadLetterSource']
}): JSX.Element {
  return (
    <div class="source-line muted small">
      <p>
        <Tag>{mode}</Tag> {lagRecords === '0' ? failuresText.upToDate : failuresText.lag(grouped(lagRecords))}.{' '}
        {failuresText.modes[mode] ?? ''} {failuresText.rule}
      </p>
      {leftOut === 0 ? null : (
        <p class="tone-warn">
          <Glyph tone="warn">▲</Glyph> {failuresText.leftOut(grouped(leftOut))}
        </p>
      )}
      {unreadClusters.length === 0 ? null : (
        <p class="tone-warn">
          <Glyph tone="warn">▲</Glyph> {failuresText.unread(unreadClusters.join(', '))}
        </p>
      )}
    </div>
  )
}
