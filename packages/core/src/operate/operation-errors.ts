import { WaybillError } from '../errors.ts'
import type { OperationState } from './operation.ts'

/** The state of an operation does not allow a transition. */
export class OperationStateError extends WaybillError {
  static override readonly code = 'WAYBILL_OPERATION_STATE_INVALID'
  readonly state: OperationState

  constructor(id: string, action: string, state: OperationState, allowed: readonly OperationState[]) {
    super(`Cannot ${action} operation '${id}': its state is ${state}, ${action} requires ${allowed.join(' or ')}.`, {
      impact: 'Nothing was changed.',
      hint: 'Read the operation to see what it did.',
    })
    this.state = state
  }
}
