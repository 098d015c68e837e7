import type { OperationPause, OperationState, OperationWish, StoredOperation } from './operation.ts'
import { OperationStateError } from './operation-errors.ts'

/** The members of an operation that a transition sets. */
export interface OperationChange {
  readonly state: OperationState
  readonly wish: StoredOperation['wish']
  readonly pausedBy: OperationPause | undefined
}

const allowedFrom: Readonly<Record<OperationWish, readonly OperationState[]>> = {
  START: ['PLANNED'],
  PAUSE: ['RUNNING'],
  RESUME: ['PAUSED'],
  CANCEL: ['PLANNED', 'RUNNING', 'PAUSED'],
}

/** Returns whether a state is final. */
export function isFinal(state: OperationState): boolean {
  return state === 'DONE' || state === 'FAILED' || state === 'CANCELLED'
}

/**
 * Returns an operation after a wish of an operator.
 * @param isLeased - whether an instance runs it: that instance follows between two batches
 * @throws OperationStateError
 */
export function afterWish(
  { id, state, wish: pending }: Pick<StoredOperation, 'id' | 'state' | 'wish'>,
  wish: OperationWish,
  isLeased: boolean,
): OperationChange {
  const allowed = allowedFrom[wish]
  // A pause can be taken back until the runner follows it; a cancel cannot.
  const takesBack = wish === 'RESUME' && state === 'RUNNING' && pending === 'PAUSE'
  if (!allowed.includes(state) && !takesBack) throw new OperationStateError(id, wish.toLowerCase(), state, allowed)
  switch (wish) {
    case 'START':
    case 'RESUME':
      return { state: 'RUNNING', wish: undefined, pausedBy: undefined }
    case 'PAUSE':
      if (!isLeased) return { state: 'PAUSED', wish: undefined, pausedBy: 'OPERATOR' }
      return { state: 'RUNNING', wish: pending === 'CANCEL' ? 'CANCEL' : 'PAUSE', pausedBy: undefined }
    case 'CANCEL':
      if (state === 'RUNNING' && isLeased) return { state: 'RUNNING', wish: 'CANCEL', pausedBy: undefined }
      return { state: 'CANCELLED', wish: undefined, pausedBy: undefined }
  }
}
