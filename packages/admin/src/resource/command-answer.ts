import type { ControlAnswer, InstanceAnswer } from '@waybill/connector/internal'
import { describeThrown, isWaybillError } from '@waybill/core'
import { instantOf } from '../json/write-json.ts'

/** Returns the answer to a command: what each instance did. A command that none could apply is an error before. */
export function commandAnswer({ scope, instances }: ControlAnswer): object {
  const shown = instances.map(shownInstance)
  return {
    scope,
    outcome: instances.every(({ outcome }) => outcome === 'APPLIED') ? 'APPLIED' : 'PARTIAL',
    instances: shown,
  }
}

function shownInstance({ instance, outcome, state, error, lastSeenAtMs }: InstanceAnswer): object {
  return {
    instance,
    outcome,
    state: state ?? null,
    ...(lastSeenAtMs === undefined ? {} : { lastSeenAt: instantOf(lastSeenAtMs) }),
    ...(error === undefined ? {} : { error: errorText(error) }),
  }
}

/** Returns an error as data. Texts of drivers may hold addresses: only errors of Waybill show theirs. */
export function errorText(error: unknown): { readonly code: string | null; readonly message: string } {
  if (isWaybillError(error)) return { code: error.code, message: error.happened }
  return { code: null, message: describeThrown(error).split(':', 1)[0] ?? 'Error' }
}
