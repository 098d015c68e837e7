import type { StoredOperation } from '@waybill/core/internal'
import { isFinal } from '@waybill/core/internal'
import { OperationFailedError } from '../problem/admin-errors.ts'
import type { Answer, Call } from '../route/call.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { preferredWaitMs } from './prefer-wait.ts'

const firstLookMs = 10
const longestLookMs = 250

/** Waits until an operation has ended or is paused, at most as long as the client prefers; returns it as it is then. */
export async function awaitOperation(
  { operations, options: { runtime } }: AdminServices,
  created: StoredOperation,
  { request, signal }: Pick<Call, 'request' | 'signal'>,
): Promise<StoredOperation> {
  const { clock, timers } = runtime
  const endsAt = clock.monotonic() + preferredWaitMs(request.headers['prefer'])
  let operation = created
  for (let lookMs = firstLookMs; !isSettled(operation); lookMs = Math.min(lookMs * 2, longestLookMs)) {
    const leftMs = endsAt - clock.monotonic()
    if (leftMs <= 0 || signal.aborted) return operation
    await timers.sleep(Math.min(lookMs, leftMs), signal).catch(() => {})
    operation = (await operations.get(created.id)) ?? operation
  }
  return operation
}

function isSettled({ state }: StoredOperation): boolean {
  return isFinal(state) || state === 'PAUSED'
}

/**
 * Returns the answer to a change that runs as an operation: its report, or where to find it while it runs.
 * @throws OperationFailedError
 */
export function operationAnswer(operation: StoredOperation, reportOf: (operation: StoredOperation) => object): Answer {
  const { id, state, trouble } = operation
  const headers = { location: `/eventbus/operations/${id}` }
  if (state === 'FAILED') throw new OperationFailedError(id, trouble)
  if (state !== 'DONE') return { status: 202, headers, body: { operation: id, state } }
  return { headers, body: { operation: id, ...reportOf(operation) } }
}
