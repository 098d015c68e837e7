import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { grouped } from '../../format/number.ts'
import { hrefOf } from '../../state/router.ts'
import { letterText } from '../../text/dead-letter.ts'
import { Inert, ShortBytes } from '../../view/bytes-view.tsx'
import { Time } from '../../view/figures.tsx'
import { Glyph, Tag } from '../../view/state-chip.tsx'
import { isParked, originOf, placeOf } from './letter-facts.ts'

/** Where a dead letter comes from, in a few lines below its id. */
export function LetterFacts({
  letter,
  waiting,
}: {
  readonly letter: Schemas['DeadLetterDetail']
  readonly waiting: number | undefined
}): JSX.Element {
  const { binding, event, key, deadAt, totalAttempts, original, trace, group, operation } = letter
  const origin = originOf(letter)
  const place = placeOf(letter)
  return (
    <>
      <span class="group-line">
        {binding === null ? '–' : <a href={hrefOf(['bindings', binding])}>{binding}</a>} ·{' '}
        {event === null ? null : (
          <>
            <Inert>{event.slice(0, 200)}</Inert> ·{' '}
          </>
        )}
        {letterText.columns.key.toLowerCase()} <ShortBytes value={key} max={80} /> · {letterText.died}{' '}
        <Time at={deadAt} isFull isRelative /> · {letterText.calls(grouped(totalAttempts))}
      </span>
      <span class="group-line">
        {letterText.from} {place === undefined ? <span class="unknown">–</span> : <code>{place}</code>}{' '}
        {place === undefined ? null : `(${thereText(original.stillThere)})`} · {letterText.group}{' '}
        <a href={hrefOf(['failures', group])}>
          <code>{group.slice(0, 40)}</code>
        </a>
        {trace === null ? null : (
          <>
            {' · '}
            {letterText.trace} <TraceLink trace={trace} />
          </>
        )}
        {operation === null ? null : (
          <>
            {' · '}
            {letterText.operation} <a href={hrefOf(['operations', operation])}>{operation.slice(0, 13)}…</a>
          </>
        )}
      </span>
      {origin === 'WAYBILL' ? null : (
        <span class="group-line">
          <Tag>{letterText.origins[origin] ?? origin}</Tag> {letterText.foreignHint}
        </span>
      )}
      {isParked(letter) && place !== undefined ? (
        <span class="group-line">
          <Glyph tone={original.stillThere === false ? 'bad' : 'warn'}>▲</Glyph> {letterText.parked(place)} (
          {thereText(original.stillThere)})
        </span>
      ) : null}
      {waiting === undefined || waiting === 0 || binding === null ? null : (
        <span class="group-line tone-warn">
          <Glyph tone="warn">▲</Glyph> {letterText.waiting(waiting, binding)}
        </span>
      )}
    </>
  )
}

function thereText(isThere: boolean | null): string {
  if (isThere === null) return letterText.thereUnknown
  return isThere ? letterText.stillThere : letterText.notThere
}

/** A link only to where a browser would go anyway: other schemes are a text. */
function TraceLink({ trace }: { readonly trace: NonNullable<Schemas['DeadLetterDetail']['trace']> }): JSX.Element {
  const short = `${trace.traceId.slice(0, 8)}…`
  if (trace.url === null || !/^https?:\/\//i.test(trace.url)) return <code title={trace.traceId}>{short}</code>
  return (
    <a href={trace.url} target="_blank" rel="noreferrer noopener" title={trace.traceId}>
      <code>{short}</code> ↗
    </a>
  )
}
