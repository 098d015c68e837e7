import { systemRuntime } from '@waybill/core'
import { requireFunction, requireNumber, requireOptions } from '../require-argument.ts'
import {
  createRecordingHandler,
  type HandlerContext,
  type RecordingHandler,
  type RecordingHandlerOptions,
  workIsCalled,
} from './recording-handler.ts'

/**
 * Creates a handler that waits for each record, and then does its work. It fails with the reason of the delivery's
 * signal when that aborts, as a well-behaved handler does.
 */
export function createSlowHandler<C extends HandlerContext = HandlerContext>(
  ms: number,
  options: RecordingHandlerOptions<C> = {},
): RecordingHandler<C> {
  const next = 'Write createSlowHandler(2_000) for two seconds per record.'
  requireNumber('createSlowHandler()', 'how long a record takes, in milliseconds of 0 or more', ms, next)
  requireOptions('createSlowHandler()', options, 'Write createSlowHandler(2_000, { work: shipOrder }).')
  const { work, runtime = systemRuntime } = options
  if (work !== undefined) requireFunction('createSlowHandler()', 'a function as `work`', work, workIsCalled)
  return createRecordingHandler<C>({
    ...options,
    async work(record, context) {
      await runtime.timers.sleep(ms, context.signal)
      await work?.(record, context)
    },
  })
}
