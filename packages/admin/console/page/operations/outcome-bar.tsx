import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { grouped } from '../../format/number.ts'
import type { Tone } from '../../format/state-look.ts'
import { operationText } from '../../text/operations.ts'
import { Glyph } from '../../view/state-chip.tsx'
import { type OutcomeKind, outcomeKinds, sharesOf } from './operation-facts.ts'

const looks: Readonly<Record<OutcomeKind, { readonly tone: Tone; readonly glyph: string }>> = {
  succeeded: { tone: 'ok', glyph: '●' },
  retrying: { tone: 'calm', glyph: '↻' },
  failedAgain: { tone: 'bad', glyph: '✖' },
  skipped: { tone: 'off', glyph: '○' },
  unknown: { tone: 'warn', glyph: '?' },
}

/** Shows the outcomes of the copies as a bar and in words. */
export function OutcomeBar({
  outcomes,
  isShort = false,
}: {
  readonly outcomes: Schemas['Operation']['outcomes']
  /** Leaves out what is 0. */
  readonly isShort?: boolean
}): JSX.Element {
  const kinds = outcomeKinds.filter((kind) => outcomes[kind] !== '0' || (!isShort && kind !== 'skipped'))
  return (
    <div class="outcome">
      {isShort ? null : (
        <div class="outcome-bar" aria-hidden="true">
          {sharesOf(outcomes).map(({ kind, percent }) => (
            <span key={kind} class={`outcome-part tone-${looks[kind].tone}`} style={{ width: `${percent}%` }} />
          ))}
        </div>
      )}
      <ul class="outcome-list">
        {kinds.map((kind) => (
          <li key={kind}>
            <Glyph tone={looks[kind].tone}>{looks[kind].glyph}</Glyph>{' '}
            <span class="figure">{grouped(outcomes[kind])}</span> {operationText.outcomes[kind]}
          </li>
        ))}
      </ul>
    </div>
  )
}
