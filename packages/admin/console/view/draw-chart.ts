/** Draws charts. Loaded when the first one is shown. */

import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { compact } from '../format/number.ts'
import { fullTime, type Zone } from '../format/time.ts'

/** One line of a chart; null where a value is not known. */
export interface ChartSeries {
  readonly label: string
  readonly tone: 'ok' | 'warn' | 'bad' | 'calm' | 'off'
  readonly values: readonly (number | null)[]
}

/** The data and size of a chart. */
export interface ChartData {
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly height: number
  readonly zone: Zone
}

/** Lines differ by their dashes, too. */
const dashes: readonly (number[] | undefined)[] = [undefined, [6, 3], [2, 3], [8, 3, 2, 3]]

/** Draws into a box and follows its width. Returns the function that removes the chart. */
export function drawChart(box: HTMLElement, { times, series, height, zone }: ChartData): () => void {
  const color = colorsOf(box)
  const axis = {
    stroke: color('muted'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { stroke: color('line'), width: 1 },
    font: '12px system-ui, sans-serif',
  }
  const plot = new uPlot(
    {
      width: Math.max(200, box.clientWidth),
      height,
      padding: [8, 8, 0, 0],
      cursor: { y: false, points: { size: 6 } },
      legend: { show: series.length > 1, live: false },
      scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
      tzDate: (seconds) =>
        zone === 'utc' ? uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') : new Date(seconds * 1_000),
      axes: [
        // Labels with seconds are 60 pixels wide.
        { ...axis, space: 80, values: (_plot, ticks) => ticks.map((tick) => clockOf(tick, ticks, zone)) },
        { ...axis, size: 52, values: (_plot, ticks) => ticks.map(compact) },
      ],
      series: [
        {},
        ...series.map(({ label, tone }, at) => ({
          label,
          stroke: color(tone),
          width: 1.5,
          ...(dashes[at % dashes.length] === undefined ? {} : { dash: dashes[at % dashes.length] as number[] }),
          points: { show: false },
        })),
      ],
    },
    [times.map((at) => at / 1_000), ...series.map(({ values }) => [...values])],
    box,
  )
  const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, box.clientWidth), height }))
  observer.observe(box)
  return () => {
    observer.disconnect()
    plot.destroy()
  }
}

/** A canvas knows no variables, and no colors that depend on the theme: the browser resolves them for an element. */
function colorsOf(box: HTMLElement): (name: string) => string {
  return (name) => {
    const probe = document.createElement('span')
    probe.style.color = `var(--${name})`
    box.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}

/** Ticks that are less than a minute apart need their seconds. */
function clockOf(tick: number, ticks: readonly number[], zone: Zone): string {
  const isClose = ticks.length > 1 && (ticks[1] ?? 0) - (ticks[0] ?? 0) < 60
  return fullTime(tick * 1_000, zone).slice(11, isClose ? 19 : 16)
}
