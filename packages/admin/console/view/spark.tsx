import type { JSX } from 'preact'
import { compact } from '../format/number.ts'

const width = 72
const height = 18

/** A small line of the last values, with its text for those who cannot see it. */
export function Spark({
  values,
  label,
  tone = 'calm',
}: {
  readonly values: readonly number[]
  /** The name of the values: "Rate of shipping". */
  readonly label: string
  readonly tone?: string
}): JSX.Element {
  if (values.length < 2) return <span class="spark" />
  const top = Math.max(...values, 1e-9)
  const step = width / (values.length - 1)
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)},${(height - 1 - (value / top) * (height - 3)).toFixed(1)}`,
  )
  const last = values.at(-1) ?? 0
  return (
    <svg
      class={`spark tone-${tone}`}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={`${label}: ${compact(last)} now, highest ${compact(Math.max(...values))}`}
    >
      <polygon class="spark-area" points={`0,${height} ${points.join(' ')} ${width},${height}`} />
      <polyline class="spark-line" points={points.join(' ')} />
    </svg>
  )
}
