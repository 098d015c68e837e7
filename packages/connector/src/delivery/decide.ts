/** Turns the completion of a delivery into its outcome, counts it and logs it. The decisions themselves are pure files. */

import { type ExceptionClassifier, UnreachableError } from '@waybill/core'
import { type RetryCost, type RetryFailure, withLogContext } from '@waybill/core/internal'
import { logContextOf } from '../handlers/delivery-context.ts'
import { duplicateFound, notStarted } from '../handlers/prepared.ts'
import { exceptionClassOf } from '../records/failure-text.ts'
import { decideInBatch } from './batch-outcome.ts'
import { decideOutcome } from './decide-outcome.ts'
import type { StageDeps } from './delivery-deps.ts'
import { failureLogOf } from './failure-log.ts'
import { cancelled, done, duplicate, filtered, foreign, type Outcome, unhandled } from './outcome.ts'
import type { Completion } from './stage-values.ts'
import type { Work } from './work.ts'

/** Decides about a record, however its delivery completed. */
export function decide(work: Work, completion: Completion, deps: StageDeps): Outcome {
  switch (completion.kind) {
    case 'RETURNED':
      deps.telemetry.attempts(work.tier, completion.attempts)
      deps.telemetry.duration(completion.handlerMs)
      return done
    case 'FAILED':
      return decideFailed(work, completion.failure, completion.classify, deps)
    case 'CANCELLED':
      return cancelled
    case 'POISON':
      return decidePoison(work, completion.error, deps)
    case 'CONDEMNED':
      return logged(work, { kind: 'DEAD_LETTER', reason: 'MANUAL', failure: completion.failure }, deps)
    case 'OUTPUTS_REFUSED': {
      const { error, attempts } = completion
      return decideFailure(work, { outcome: 'EXHAUSTED', error, attempts }, deps.classifier, deps)
    }
    case 'DUPLICATE':
      return decideDuplicate(work, deps)
    case 'FILTERED':
      return filtered
    case 'UNHANDLED':
      return unhandled
    case 'FOREIGN':
      return foreign
    default:
      throw new UnreachableError(completion)
  }
}

/** Decides about a record that had its effect before. */
export function decideDuplicate(work: Work, deps: StageDeps): Outcome {
  return logged(work, duplicate, deps)
}

/** Decides about a record whose call failed together with another record's, and for the same reason. */
export function decideAlike(work: Work, outcome: Outcome, deps: StageDeps): Outcome {
  const alike = inBatch(work, outcome, deps)
  if ('failure' in alike && alike.failure !== undefined)
    deps.telemetry.failed(work.record.topic, exceptionClassOf(alike.failure.error))
  return alike.kind === 'PAUSE' ? alike : logged(work, alike, deps)
}

function decideFailed(
  work: Work,
  failure: RetryFailure & RetryCost,
  classify: ExceptionClassifier,
  deps: StageDeps,
): Outcome {
  if (failure.outcome === 'NOT_RETRYABLE' && failure.error === duplicateFound) return decideDuplicate(work, deps)
  if (failure.outcome === 'NOT_RETRYABLE' && failure.error === notStarted) return cancelled
  deps.telemetry.attempts(work.tier, failure.attempts)
  deps.telemetry.duration(failure.handlerMs)
  return decideFailure(work, failure, classify, deps)
}

function decideFailure(
  work: Work,
  failure: RetryFailure & Pick<RetryCost, 'attempts'>,
  classify: ExceptionClassifier,
  deps: StageDeps,
): Outcome {
  const { binding, telemetry, runtime } = deps
  if (failure.outcome !== 'CANCELLED') telemetry.failed(work.record.topic, exceptionClassOf(failure.error))
  const at = { tier: work.tier, attempt: work.trail.attempt }
  const outcome = decideOutcome(failure, at, binding, classify, runtime.clock.now())
  return logged(work, inBatch(work, outcome, deps), deps)
}

/** Decides about a record that can never be decoded. */
export function decidePoison(work: Work, error: Error, deps: StageDeps): Outcome {
  deps.telemetry.failed(work.record.topic, exceptionClassOf(error))
  const failure = { error, attempts: 0, atMs: deps.runtime.clock.now() }
  return logged(work, { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure }, deps)
}

/** A record in a tier is alone, and its deliveries are counted there. */
function inBatch(work: Work, outcome: Outcome, { binding }: StageDeps): Outcome {
  if (binding.listenerType === 'SINGLE' || work.kind !== 'SOURCE') return outcome
  return decideInBatch(outcome, ++work.failedInBatch, binding)
}

/** Logs a failed record and its outcome. */
function logged(work: Work, outcome: Outcome, { binding, context, runtime }: StageDeps): Outcome {
  const line = failureLogOf(outcome, binding.deadLetter.redact)
  if (line !== undefined)
    withLogContext(
      () => logContextOf(context, work.record, work),
      () => runtime.logger[line.level](line.fields, line.text),
    )
  return outcome
}
