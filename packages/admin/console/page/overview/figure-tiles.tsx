import type { JSX } from 'preact'
import { compact, grouped } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { live } from '../../state/live.ts'
import { rateHistory } from '../../state/rate-history.ts'
import { hrefOf } from '../../state/router.ts'
import { overviewText } from '../../text/overview.ts'
import { Spark } from '../../view/spark.tsx'
import { Tile } from '../../view/tile.tsx'
import { totalsOf } from './severity.ts'
import { type FigureLevel, levelOf, type Reading } from './thresholds.ts'

const { figures } = overviewText

/** The figures of all bindings together. */
export function FigureTiles({ readings }: { readonly readings: readonly Reading[] }): JSX.Element {
  const bindings = live.items.binding.value
  const totals = totalsOf([...(bindings?.values() ?? [])])
  const rates = sumOfRings([...rateHistory.value.values()])
  const isKnown = bindings !== undefined
  const backlog = [...(live.items.outbox.value?.values() ?? [])]
  const pending = backlog.reduce((sum, one) => sum + BigInt(one.backlog.pending) + BigInt(one.backlog.retrying), 0n)
  const oldest = Math.max(0, ...backlog.map((one) => one.backlog.oldestAgeMs))
  const lag = levelOf(readings, 'lagRecords')
  const age = levelOf(readings, 'lagSeconds')
  const dying = levelOf(readings, 'deadLettersPerMinute')
  return (
    <div class={`tiles${live.isStale.value ? ' stale' : ''}`}>
      <Tile
        title={figures.rate}
        hint={figures.rateHint}
        value={isKnown ? compactOrDash(totals.perSecond) : undefined}
        unit="/s"
      >
        <Spark values={rates} label={figures.rate} />
      </Tile>
      <Tile
        title={figures.lag}
        hint={hintOf(figures.lagHint, lag, age)}
        value={isKnown ? digitsOrDash(totals.lag) : undefined}
        tone={lag.tone === 'bad' ? lag.tone : (age.tone ?? lag.tone)}
        more={totals.lagSeconds === null ? undefined : duration(totals.lagSeconds * 1_000)}
      />
      <Tile
        title={figures.retrying}
        hint={figures.retryingHint}
        value={isKnown ? digitsOrDash(totals.retrying) : undefined}
      />
      <Tile
        title={figures.dead}
        hint={hintOf(figures.deadHint, dying)}
        value={isKnown ? digitsOrDash(totals.dead) : undefined}
        tone={totals.dead !== null && totals.dead !== '0' ? 'bad' : undefined}
        more={(totals.deadPerMinute ?? 0) > 0 ? `+${compact(totals.deadPerMinute ?? 0)}/min` : undefined}
        href={hrefOf(['failures'])}
      />
      {backlog.length === 0 ? null : (
        <Tile
          title={figures.outbox}
          hint={figures.outboxHint}
          value={grouped(pending)}
          more={duration(oldest)}
          href={hrefOf(['outbox'])}
        />
      )}
    </div>
  )
}

function hintOf(hint: string, ...levels: readonly FigureLevel[]): string {
  return [hint, ...levels.flatMap(({ title }) => title ?? [])].join('. ')
}

function compactOrDash(value: number | null): string {
  return value === null ? '–' : compact(value)
}

function digitsOrDash(value: string | null): string {
  return value === null ? '–' : grouped(value)
}

function sumOfRings(rings: readonly (readonly number[])[]): readonly number[] {
  const length = Math.max(0, ...rings.map((ring) => ring.length))
  return Array.from({ length }, (_, at) => rings.reduce((sum, ring) => sum + (ring[ring.length - length + at] ?? 0), 0))
}
