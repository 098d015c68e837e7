import { ArgumentError, type Runtime, systemRuntime } from '@waybill/core'
import { createRecordingHandler, type RecordingHandler } from './recording-handler.ts'

/**
 * Makes a handler that takes so long for each record. It fails with the reason of the delivery's signal when that
 * aborts, as a well-behaved handler does.
 */
export function createSlowHandler(ms: number, runtime: Runtime = systemRuntime): RecordingHandler {
  if (!(ms >= 0)) throw new ArgumentError(`A handler cannot take ${ms} ms.`)
  return createRecordingHandler({ runtime, work: (_, { signal }) => runtime.timers.sleep(ms, signal) })
}
