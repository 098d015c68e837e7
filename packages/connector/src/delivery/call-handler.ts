import { type LogContextSource, withLogContext } from '@waybill/core/internal'
import { RecordContext } from '../handlers/delivery-context.ts'
import type { Outputs } from '../handlers/outputs.ts'
import { notStarted } from '../handlers/prepared.ts'
import type { StageDeps } from './delivery-deps.ts'
import type { DeliveryScope } from './delivery-scope.ts'
import { callWithin } from './handler-timeout.ts'
import type { HandlerCall } from './stage-values.ts'
import type { Work } from './work.ts'

/** A call of the handler, and the record it is made for. */
export interface Invoking extends LogContextSource {
  readonly work: Work
  readonly call: HandlerCall
  readonly scope: DeliveryScope
  readonly deps: StageDeps
}

/**
 * Calls the handler once, within its time and with the log context of its record. Makes no promise where neither the
 * handler nor a failpoint has one: making and awaiting it costs more than the call.
 */
export function callHandler(invoking: Invoking, attempt: number): Promise<void> | void {
  const { work, scope } = invoking
  if (work.span === undefined) return scope.logContexts.run(invoking, callBehindFailpoint, invoking, attempt)
  // Within the context of its span.
  return withLogContext(
    () => invoking.logContext(),
    () => callBehindFailpoint(invoking, attempt),
  )
}

function callBehindFailpoint(invoking: Invoking, attempt: number): Promise<void> | void {
  const before = invoking.deps.runtime.failpoint('handler.before')
  return before === undefined ? callNow(invoking, attempt) : callAfter(before, invoking, attempt)
}

async function callAfter(before: Promise<void>, invoking: Invoking, attempt: number): Promise<void> {
  await before
  if (invoking.scope.retrying.aborted) throw notStarted
  await callNow(invoking, attempt)
}

/** A call sends nothing once it is over or out of time: no transaction would write it. */
function callNow(invoking: Invoking, attempt: number): Promise<void> | void {
  const { outputs } = invoking.work
  return outputs === undefined ? callInTime(invoking, attempt) : callAndClose(outputs, invoking, attempt)
}

async function callAndClose(outputs: Outputs, invoking: Invoking, attempt: number): Promise<void> {
  try {
    await callInTime(invoking, attempt)
  } finally {
    outputs.end()
  }
}

function callInTime(invoking: Invoking, attempt: number): Promise<void> | void {
  const { call, scope, deps } = invoking
  const { handlerTimeoutMs } = deps.binding
  if (handlerTimeoutMs === false) return call.run(contextOf(invoking, attempt, scope.handling))
  return callWithin(deps.runtime.timers, handlerTimeoutMs, scope.handling, (signal) =>
    call.run(contextOf(invoking, attempt, signal)),
  )
}

function contextOf({ work, scope, deps }: Invoking, attempt: number, signal: AbortSignal): RecordContext {
  return RecordContext.of(deps.context, work, work.record, attempt, signal, scope.retrying)
}
