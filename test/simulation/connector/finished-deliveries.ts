import type { BindingPlan } from './binding-plan.ts'
import { placeName } from './evidence.ts'
import type { Call } from './handler-journal.ts'
import { isKeyed } from './places.ts'

/**
 * L5 for records that fail: whoever has made the last attempt also writes the record on, and commits it, before he goes. Where
 * nothing else fails nobody is given the same copy again.
 */
export class FinishedDeliveries {
  readonly #last = new Map<string, Call>()

  /** A call has failed. */
  failed(call: Call): void {
    const { binding, signal, attempt } = call
    const isFatal = binding.behaviours[Number(call.id.slice(1))]?.kind === 'FATAL' && binding.down === undefined
    const { maxAttempts = 3 } = binding.options.retry?.tier0 ?? {}
    // What is given up settles nothing.
    if (movesOn(binding) && !signal.aborted && (isFatal || attempt === maxAttempts)) this.#last.set(nameOf(call), call)
  }

  /** The last attempt of another owner at the same copy, where there was one. */
  before(call: Call): Call | undefined {
    const last = this.#last.get(nameOf(call))
    return last === undefined || last.owner === call.owner ? undefined : last
  }
}

/** Whether the last attempt decides, and its outcome is another topic's. */
function movesOn(binding: BindingPlan): boolean {
  const { failureProfile, strictExhaustion, circuitBreaker, listenerType } = binding.options
  if (isKeyed(binding) || listenerType === 'BATCH' || circuitBreaker?.enabled === true) return false
  return failureProfile !== 'BLOCKING_UNLIMITED' && strictExhaustion !== 'PAUSE_PARTITION'
}

function nameOf({ binding, record }: Call): string {
  return `${binding.groupId} ${placeName(record)}`
}
