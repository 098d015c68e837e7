import type { JSX } from 'preact'
import { type Problem, problemText } from '../api/problem.ts'
import { text } from '../text/parts.ts'
import { CopyButton } from './copy-button.tsx'

/** A failure: what happened, what it means for the data, what to do. */
export function ProblemView({
  problem,
  onRetry,
}: {
  readonly problem: Problem
  readonly onRetry?: (() => void) | undefined
}): JSX.Element {
  const { title, detail, impact, hint, code, requestId, violations = [] } = problem
  return (
    <div class="problem" role="alert">
      <p class="problem-title">
        <span class="glyph tone-bad" aria-hidden="true">
          ✖
        </span>{' '}
        {title}
      </p>
      <p>{detail}</p>
      {violations.length === 0 ? null : (
        <ul>
          {violations.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {impact === undefined ? null : <p>{impact}</p>}
      {hint === undefined ? null : <p class="muted">{hint}</p>}
      <p class="problem-foot">
        {onRetry === undefined ? null : (
          <button type="button" onClick={onRetry}>
            {text.tryAgain}
          </button>
        )}
        <CopyButton text={problemText(problem)} label={text.copyProblem}>
          {text.copyAsText}
        </CopyButton>
        <span class="muted">
          <code>{code}</code>
          {requestId === undefined ? null : (
            <>
              {' '}
              {text.request} <code>{requestId}</code>
            </>
          )}
        </span>
      </p>
    </div>
  )
}
