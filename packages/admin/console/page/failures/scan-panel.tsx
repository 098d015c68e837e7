import type { JSX } from 'preact'
import { countOf, grouped } from '../../format/number.ts'
import { failuresText } from '../../text/failures.ts'
import { ProblemView } from '../../view/problem-view.tsx'
import type { Scan } from './scan.ts'

/** The progress of a scan, with Stop. */
export function ScanPanel({ scan, onLeave }: { readonly scan: Scan; readonly onLeave: () => void }): JSX.Element {
  const { state, read, of, matched, groups, problem, stop, again } = scan
  return (
    <section class="scan" aria-label={failuresText.scanTitle}>
      <p class="scan-line">
        <strong>{failuresText.scanTitle}</strong>
        <progress max={Math.max(1, Number(of))} value={Number(read)} aria-label={failuresText.scanTitle} />
        <span class="figure">{failuresText.scanOf(grouped(read), grouped(of))}</span>
        <span class="figure">{failuresText.scanFound(grouped(matched))}</span>
        {state === 'RUNNING' ? (
          <button type="button" onClick={stop}>
            {failuresText.scanStop}
          </button>
        ) : (
          <button type="button" onClick={again}>
            {failuresText.scanAgain}
          </button>
        )}
        <button type="button" class="quiet" onClick={onLeave}>
          {failuresText.toIndex}
        </button>
      </p>
      <p class="muted" role="status">
        {state === 'DONE'
          ? failuresText.scanDone(countOf(matched, 'dead letter'), countOf(groups.length, 'group'))
          : state === 'STOPPED'
            ? failuresText.scanStopped
            : failuresText.scanHint}
      </p>
      {problem === undefined ? null : <ProblemView problem={problem} onRetry={again} />}
    </section>
  )
}
