import { describeThrown, type LogFields, UnreachableError } from '@waybill/core'
import type { Failure } from '../records/failure.ts'
import { exceptionClassOf, userFrameOf } from '../records/failure-text.ts'
import type { Outcome } from './outcome.ts'

/** One line of the log. */
export interface FailureLog {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly fields: LogFields
  readonly text: string
}

const repeat: FailureLog = Object.freeze({
  level: 'debug',
  fields: {},
  text: 'The record had its effect before and is skipped',
})

/**
 * What the log says of a delivery that failed, or that was none; undefined for one that succeeded. The louder, the more
 * somebody has to do.
 */
export function failureLogOf(outcome: Outcome): FailureLog | undefined {
  switch (outcome.kind) {
    case 'DONE':
      return undefined
    case 'SKIP':
      if (outcome.cause === 'DUPLICATE') return repeat
      return outcome.failure && line('warn', outcome.failure, 'The record failed and is skipped')
    case 'RETRY': {
      const { tier, attempt } = outcome
      return line('info', outcome.failure, 'The record failed and goes to a retry tier', { tier, attempt })
    }
    case 'DEAD_LETTER':
      return line('warn', outcome.failure, 'The record failed for good and becomes a dead letter', {
        deadLetterReason: outcome.reason,
      })
    case 'PAUSE':
      return pauseLogOf(outcome)
    default:
      throw new UnreachableError(outcome)
  }
}

function pauseLogOf(outcome: Extract<Outcome, { kind: 'PAUSE' }>): FailureLog | undefined {
  switch (outcome.cause) {
    case 'CANCELLED':
      return undefined
    case 'BREAKER':
      return outcome.failure && line('debug', outcome.failure, 'The record waits for the circuit to close')
    case 'REDELIVERED':
      return line('warn', outcome.failure, 'The record failed, and the next batch begins with it')
    case 'BLOCKED':
      return line('warn', outcome.failure, 'The record failed, holds up those behind it and is tried again')
    case 'EXHAUSTED':
      return line('error', outcome.failure, 'The record failed and waits for an operator: resume tries it again')
    default:
      throw new UnreachableError(outcome)
  }
}

function line(level: FailureLog['level'], failure: Failure, text: string, fields: LogFields = {}): FailureLog {
  const { error, attempts } = failure
  const thrownAt = userFrameOf(error)
  return {
    level,
    text,
    fields: {
      exception: exceptionClassOf(error),
      reason: describeThrown(error),
      ...(thrownAt === undefined ? {} : { thrownAt }),
      attempts,
      ...fields,
    },
  }
}
