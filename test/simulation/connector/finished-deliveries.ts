import type { BindingPlan } from './binding-plan.ts'
import { placeName } from './evidence.ts'
import type { Call } from './handler-journal.ts'
import { isKeyed } from './places.ts'

/**
 * L5 for failing records: the owner that makes the last attempt also forwards the record and commits it before it
 * leaves. Where nothing else fails, no other owner receives the same copy.
 */
export class FinishedDeliveries {
  readonly #last = new Map<string, Call>()

  /** Records a failed call. */
  failed(call: Call): void {
    const { binding, signal, attempt } = call
    const isFatal = binding.behaviours[Number(call.id.slice(1))]?.kind === 'FATAL' && binding.down === undefined
    const { maxAttempts = 3 } = binding.options.retry?.tier0 ?? {}
    // A timed-out call settles nothing.
    if (movesOn(binding) && !signal.aborted && (isFatal || attempt === maxAttempts)) this.#last.set(nameOf(call), call)
  }

  /** Returns the last attempt of another owner at the same copy, if any. */
  before(call: Call): Call | undefined {
    const last = this.#last.get(nameOf(call))
    return last === undefined || last.owner === call.owner ? undefined : last
  }
}

/** Returns true when the last attempt decides, and its outcome is a record on another topic. */
function movesOn(binding: BindingPlan): boolean {
  const { failureProfile, strictExhaustion, circuitBreaker, listenerType } = binding.options
  if (isKeyed(binding) || listenerType === 'BATCH' || circuitBreaker?.enabled === true) return false
  return failureProfile !== 'BLOCKING_UNLIMITED' && strictExhaustion !== 'PAUSE_PARTITION'
}

function nameOf({ binding, record }: Call): string {
  return `${binding.groupId} ${placeName(record)}`
}
