import { duplicateFound } from '../handlers/prepared.ts'
import { requireStart } from '../handlers/require-start.ts'
import { decode } from './decode.ts'
import { deduplicate } from './deduplicate.ts'
import type { StageDeps } from './delivery-deps.ts'
import type { DeliveryScope } from './delivery-scope.ts'
import { callWithin } from './handler-timeout.ts'
import type { HandlerCall, Ready } from './stage-values.ts'
import type { Work } from './work.ts'

/**
 * Waits for an asynchronous decode or deduplicate, as long as for a handler. A schema or a store that takes longer counts
 * as a failed attempt, and every further attempt prepares the record again.
 */
export function prepareInTime(
  work: Work,
  preparing: Promise<Ready>,
  scope: DeliveryScope,
  deps: StageDeps,
): Promise<Ready> {
  const { handlerTimeoutMs } = deps.binding
  return handlerTimeoutMs === false ? preparing : bounded(work, preparing, handlerTimeoutMs, scope, deps)
}

async function bounded(
  work: Work,
  preparing: Promise<Ready>,
  handlerTimeoutMs: number,
  scope: DeliveryScope,
  deps: StageDeps,
): Promise<Ready> {
  try {
    return await callWithin(deps.runtime.timers, handlerTimeoutMs, scope.handling, () => preparing)
  } catch (error) {
    return prepareAgain(work, { error, handlerMs: handlerTimeoutMs }, deps)
  }
}

function prepareAgain(work: Work, firstFailure: HandlerCall['firstFailure'], deps: StageDeps): HandlerCall {
  return {
    kind: 'RUN',
    firstFailure,
    async run(context) {
      const ready = await deduplicate(work, decode(work, deps), deps)
      if (ready.kind === 'POISON') throw ready.error
      if (ready.kind === 'DUPLICATE') throw duplicateFound
      if (ready.kind !== 'RUN') return
      requireStart(context)
      await ready.run(context)
    },
  }
}
