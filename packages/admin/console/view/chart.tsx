import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { compact } from '../format/number.ts'
import { shortTime } from '../format/time.ts'
import { now } from '../state/clock.ts'
import { isDark, settings } from '../state/settings.ts'
import { text } from '../text/parts.ts'
import type { ChartSeries } from './draw-chart.ts'

/** A chart over time, with the same as a sentence and as a table. */
export function Chart({
  title,
  times,
  series,
  height = 180,
}: {
  readonly title: string
  /** Epoch ms. */
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly height?: number
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [isTable, setTable] = useState(false)
  const isDrawn = times.length > 1
  const theme = `${settings.theme.value} ${isDark()}`
  useEffect(() => {
    const { current } = box
    if (current === null || !isDrawn || isTable) return undefined
    let stop: (() => void) | undefined
    let isGone = false
    const draw = async (): Promise<void> => {
      const { drawChart } = await import('./draw-chart.ts')
      if (!isGone) stop = drawChart(current, { times, series, height, zone: settings.zone.value })
    }
    void draw()
    return () => {
      isGone = true
      stop?.()
    }
  }, [times, series, height, theme, settings.zone.value, isDrawn, isTable])
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        {isDrawn ? (
          <button type="button" class="quiet small" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            {isTable ? text.showChart : text.showTable}
          </button>
        ) : null}
      </figcaption>
      {isDrawn ? null : <p class="muted">{text.noPoints}</p>}
      {isDrawn && isTable ? <PointTable times={times} series={series} /> : null}
      {isDrawn && !isTable ? (
        <>
          <div ref={box} class="chart-box" style={{ minHeight: `${height}px` }} aria-hidden="true" />
          <p class="visually-hidden">{sentenceOf(times, series)}</p>
        </>
      ) : null}
    </figure>
  )
}

function sentenceOf(times: readonly number[], series: readonly ChartSeries[]): string {
  return series
    .map(({ label, values }) => {
      const known = values.filter((value): value is number => value !== null)
      if (known.length === 0) return `${label}: ${text.notKnown}`
      const top = Math.max(...known)
      const at = times[values.indexOf(top)] ?? now()
      return text.chartSentence(
        label,
        compact(known.at(-1) ?? 0),
        compact(top),
        shortTime(at, now(), settings.zone.value),
      )
    })
    .join(' ')
}

const tableRows = 60

function PointTable({
  times,
  series,
}: {
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
}): JSX.Element {
  const from = Math.max(0, times.length - tableRows)
  return (
    <div class="table-box low">
      <table>
        <thead>
          <tr>
            <th scope="col">{text.time}</th>
            {series.map(({ label }) => (
              <th key={label} scope="col" class="end">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.slice(from).map((at, index) => (
            <tr key={at}>
              <th scope="row">{shortTime(at, now(), settings.zone.value)}</th>
              {series.map(({ label, values }) => (
                <td key={label} class="end figure">
                  {compact(values[from + index] ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
