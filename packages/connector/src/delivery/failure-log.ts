import { describeThrown, type LogFields, UnreachableError } from '@waybill/core'
import type { Failure } from '../records/failure.ts'
import { exceptionClassOf, type Redact, userFrameOf } from '../records/failure-text.ts'
import type { Outcome } from './outcome.ts'

/** One log line. */
export interface FailureLog {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly fields: LogFields
  readonly text: string
}

type Line = (level: FailureLog['level'], failure: Failure, text: string, fields?: LogFields) => FailureLog

const repeat: FailureLog = Object.freeze({
  level: 'debug',
  fields: {},
  text: 'Duplicate record skipped',
})

/**
 * Returns the log line of a failed or skipped record; undefined for one that succeeded. The level rises with the work
 * that is left to an operator.
 */
export function failureLogOf(outcome: Outcome, redact: Redact): FailureLog | undefined {
  const line: Line = (level, failure, text, fields = {}) => lineOf(level, failure, text, fields, redact)

  switch (outcome.kind) {
    case 'DONE':
      return undefined
    case 'SKIP':
      if (outcome.cause === 'DUPLICATE') return repeat
      return outcome.failure && line('warn', outcome.failure, 'Record failed, skipped')
    case 'RETRY': {
      const { tier, attempt } = outcome
      return line('info', outcome.failure, 'Record failed, sent to retry tier', { tier, attempt })
    }
    case 'DEAD_LETTER':
      return line('warn', outcome.failure, 'Record failed permanently, sent to dead letter topic', {
        deadLetterReason: outcome.reason,
      })
    case 'PAUSE':
      return pauseLogOf(outcome, line)
    default:
      throw new UnreachableError(outcome)
  }
}

function pauseLogOf(outcome: Extract<Outcome, { kind: 'PAUSE' }>, line: Line): FailureLog | undefined {
  switch (outcome.cause) {
    case 'CANCELLED':
      return undefined
    case 'BREAKER':
      return outcome.failure && line('debug', outcome.failure, 'Record delayed until the circuit closes')
    case 'REDELIVERED':
      return line('warn', outcome.failure, 'Record failed, redelivered with the next batch')
    case 'BLOCKED':
      return line('warn', outcome.failure, 'Record failed, partition blocked until it succeeds')
    case 'EXHAUSTED':
      return line('error', outcome.failure, 'Record failed, partition paused until an operator resumes it')
    default:
      throw new UnreachableError(outcome)
  }
}

function lineOf(
  level: FailureLog['level'],
  failure: Failure,
  text: string,
  fields: LogFields,
  redact: Redact,
): FailureLog {
  const { error, attempts } = failure
  const thrownAt = userFrameOf(error, redact)
  return {
    level,
    text,
    fields: {
      exception: exceptionClassOf(error),
      reason: redact(describeThrown(error)),
      ...(thrownAt === undefined ? {} : { thrownAt }),
      attempts,
      ...fields,
    },
  }
}
