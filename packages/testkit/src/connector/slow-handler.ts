import { ArgumentError, systemRuntime } from '@waybill/core'
import {
  createRecordingHandler,
  type HandlerContext,
  type RecordingHandler,
  type RecordingHandlerOptions,
} from './recording-handler.ts'

/**
 * Makes a handler that takes so long for each record, and then does its work. It fails with the reason of the delivery's
 * signal when that aborts, as a well-behaved handler does.
 */
export function createSlowHandler<C extends HandlerContext = HandlerContext>(
  ms: number,
  options: RecordingHandlerOptions<C> = {},
): RecordingHandler<C> {
  if (!(ms >= 0)) throw new ArgumentError(`A handler cannot take ${ms} ms.`)
  const { timers } = options.runtime ?? systemRuntime
  return createRecordingHandler<C>({
    ...options,
    async work(record, context) {
      await timers.sleep(ms, context.signal)
      await options.work?.(record, context)
    },
  })
}
