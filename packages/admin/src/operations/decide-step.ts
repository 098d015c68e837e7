/** Decides what the runner of an operation does next. Pure. */

import type { OperationEnd, OperationOrders, OperationProgress, ReplayOutcomes } from '@waybill/core/internal'
import type { OperationLimits } from './operation-limits.ts'

/** The state of a run that survives a takeover: `OperationProgress.cursor`. */
export interface RunCursor {
  /** Whether the outcomes of the canary were awaited. */
  readonly isCanaryOver?: boolean
  /** Settled and failed copies when the abort rule paused the operation: an operator resumed it in spite of them. */
  readonly forgiven?: { readonly settled: number; readonly failed: number }
  /** Takeovers since the last record that took effect. */
  readonly idleTakeovers?: number
  /** State of the type of operation. */
  readonly position?: unknown
}

/** The next step of a run. */
export type RunStep =
  | { readonly kind: 'BATCH'; readonly maxCount: number }
  /** Waits for outcomes, then decides again. */
  | { readonly kind: 'AWAIT_CANARY' }
  | { readonly kind: 'END'; readonly end: OperationEnd; readonly cursor: RunCursor }

/** The inputs of a decision. */
export interface RunState {
  readonly limits: OperationLimits
  readonly orders: OperationOrders
  readonly progress: OperationProgress
  readonly outcomes: ReplayOutcomes
  /** How long the outcomes of the canary have been awaited. */
  readonly awaitedMs: number
}

const maxBatch = 100

/** Returns the next step. */
export function decideStep({ limits, orders, progress, outcomes, awaitedMs }: RunState): RunStep {
  const cursor = cursorOf(progress)
  const sent = Number(progress.sent)
  if (orders.wish === 'CANCEL') return { kind: 'END', end: { state: 'CANCELLED' }, cursor }
  if (orders.wish === 'PAUSE') return { kind: 'END', end: { state: 'PAUSED', pausedBy: 'OPERATOR' }, cursor }
  const { canary } = limits
  const isCanary = canary !== undefined && cursor.isCanaryOver !== true
  const counts = countsOf(outcomes)
  const isAwaited = isCanary && sent >= Math.min(canary.count, limits.limit)
  const hasSettled = isAwaited && (counts.settled >= sent || awaitedMs >= canary.settleMs)
  const minimum = hasSettled ? 1 : undefined
  if (isBroken(limits.abortWhen, counts, cursor, minimum))
    return {
      kind: 'END',
      end: { state: 'PAUSED', pausedBy: 'ABORT_RULE' },
      cursor: { ...cursor, forgiven: counts, ...(hasSettled ? { isCanaryOver: true } : {}) },
    }
  if (isAwaited && !hasSettled) return { kind: 'AWAIT_CANARY' }
  if (hasSettled && canary.onSettled === 'PAUSE')
    return { kind: 'END', end: { state: 'PAUSED', pausedBy: 'CANARY' }, cursor: { ...cursor, isCanaryOver: true } }
  if (sent >= limits.limit) return { kind: 'END', end: { state: 'DONE' }, cursor }
  const until = isCanary && !hasSettled ? Math.min(canary.count, limits.limit) : limits.limit
  const perSecond = Math.max(1, Math.floor(orders.rate))
  return { kind: 'BATCH', maxCount: Math.min(maxBatch, perSecond, until - sent) }
}

/** Returns the cursor of a run. */
export function cursorOf({ cursor }: Pick<OperationProgress, 'cursor'>): RunCursor {
  return cursor ?? {}
}

/** A copy that needs a retry tier counts as failed at once: its last tier may take hours. */
function countsOf({ succeeded, retrying, failedAgain, skipped }: ReplayOutcomes): { settled: number; failed: number } {
  return { settled: Number(succeeded + retrying + failedAgain + skipped), failed: Number(retrying + failedAgain) }
}

function isBroken(
  rule: OperationLimits['abortWhen'],
  { settled, failed }: { readonly settled: number; readonly failed: number },
  { forgiven = { settled: 0, failed: 0 } }: RunCursor,
  minimum: number | undefined,
): boolean {
  if (rule === false) return false
  const since = { settled: settled - forgiven.settled, failed: failed - forgiven.failed }
  return since.settled >= (minimum ?? rule.minimum) && since.failed > rule.failureRate * since.settled
}
