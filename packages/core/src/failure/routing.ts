import { ArgumentError } from '../errors.ts'

/** Where a failed record goes. */
export type ExceptionRouting = 'NEXT_TIER' | 'SKIP_TO_TIER' | 'DEAD_LETTER' | 'PAUSE_CONTAINER'

/** Where a failed record goes, as a classifier answers it. */
export interface ExceptionRoutingDecision {
  readonly routing: ExceptionRouting
  /** Counted from 1, the first retry topic; -1 unless `routing` is SKIP_TO_TIER. */
  readonly targetTier: number
}

/**
 * Decides where a failed record goes. `currentTier` is where it failed: 0 for the source topic, n for the n-th retry
 * topic.
 */
export type ExceptionClassifier = (thrown: unknown, currentTier: number) => ExceptionRoutingDecision

const withoutTier = (routing: ExceptionRouting): ExceptionRoutingDecision => Object.freeze({ routing, targetTier: -1 })
const toNextTier = withoutTier('NEXT_TIER')
const toDeadLetter = withoutTier('DEAD_LETTER')
const toPause = withoutTier('PAUSE_CONTAINER')

/** The record goes to the next retry topic, and from the last one to the dead letter topic. */
export function nextTier(): ExceptionRoutingDecision {
  return toNextTier
}

/** The record goes straight to the dead letter topic. */
export function deadLetter(): ExceptionRoutingDecision {
  return toDeadLetter
}

/** Keeps the record where it is and pauses its container until an operator resumes it. */
export function pauseContainer(): ExceptionRoutingDecision {
  return toPause
}

/** The record goes to the retry topic with this number. */
export function skipToTier(tier: number): ExceptionRoutingDecision {
  if (!isTier(tier)) throw new ArgumentError(`A tier to skip to is an integer of 1 or more, not ${String(tier)}.`)
  return Object.freeze({ routing: 'SKIP_TO_TIER', targetTier: tier })
}

/** Whether trying again in memory comes before this decision: it does unless the decision is about giving up. */
export function isRetryable({ routing }: ExceptionRoutingDecision): boolean {
  return routing === 'NEXT_TIER' || routing === 'SKIP_TO_TIER'
}

const routings: ReadonlySet<unknown> = new Set<ExceptionRouting>([
  'NEXT_TIER',
  'SKIP_TO_TIER',
  'DEAD_LETTER',
  'PAUSE_CONTAINER',
])

/** Whether a value is a decision that can be followed: what users' classifiers answer is not known before. */
export function isRoutingDecision(value: unknown): value is ExceptionRoutingDecision {
  if (typeof value !== 'object' || value === null) return false
  const { routing, targetTier } = value as Partial<ExceptionRoutingDecision>
  return routings.has(routing) && (routing !== 'SKIP_TO_TIER' || isTier(targetTier))
}

function isTier(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1
}
