import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { duration } from '../format/time.ts'
import { after, seconds } from '../state/clock.ts'
import type { Resource } from '../state/resource.ts'
import { text } from '../text/parts.ts'
import { ProblemView } from './problem-view.tsx'

const staleMs = 15_000
const slowMs = 10_000

/** Shows an answer, or why there is none. Values of before stay, muted, with their age. */
export function ResourceView<T>({
  resource,
  children,
  rows = 3,
}: {
  readonly resource: Resource<T>
  readonly children: (value: T) => ComponentChildren
  /** Grey bars while nothing is known. */
  readonly rows?: number
}): JSX.Element {
  const { value, problem, asOf, reload } = resource
  if (value === undefined)
    return problem === undefined ? <Loading rows={rows} /> : <ProblemView problem={problem} onRetry={reload} />
  const age = asOf === undefined ? 0 : seconds.value - asOf
  const isStale = problem !== undefined && age > staleMs
  return (
    <>
      {problem === undefined ? null : <ProblemView problem={problem} onRetry={reload} />}
      {isStale ? <p class="stale-note">{text.asOfAge(duration(age))}</p> : null}
      <div class={isStale ? 'stale' : undefined}>{children(value)}</div>
    </>
  )
}

/** Grey bars where values come; later it says that the server is slow. */
export function Loading({ rows = 3 }: { readonly rows?: number }): JSX.Element {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => after(slowMs, () => setSlow(true)), [])
  return (
    <div class="loading" role="status" aria-label={text.loading}>
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} class="bar" />
      ))}
      {isSlow ? <p class="muted">{text.slow}</p> : null}
    </div>
  )
}
