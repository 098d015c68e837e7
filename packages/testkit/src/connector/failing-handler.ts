import { ArgumentError } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { IntendedFailureError } from './intended-failure-error.ts'
import { placeName } from './place-name.ts'
import {
  createRecordingHandler,
  type HandlerContext,
  type RecordingHandler,
  type RecordingHandlerOptions,
} from './recording-handler.ts'

/** Options of {@link createFailingHandler}. */
export interface FailingHandlerOptions<C extends HandlerContext = HandlerContext> extends RecordingHandlerOptions<C> {
  /** What a failing call throws: the value, or what a function makes of the record. @defaultValue an {@link IntendedFailureError} */
  readonly error?: unknown
}

/**
 * Makes a handler whose first `times` calls for each record fail, in whatever tier they are, and the next ones succeed.
 * Infinity fails for ever.
 */
export function createFailingHandler<C extends HandlerContext = HandlerContext>(
  times: number,
  options: FailingHandlerOptions<C> = {},
): RecordingHandler<C> {
  if (!(times >= 0)) throw new ArgumentError(`A handler cannot fail ${times} times.`)
  const { error, work, ...rest } = options
  const failures = new Map<string, number>()
  return createRecordingHandler<C>({
    ...rest,
    async work(record, context) {
      const failed = (failures.get(placeName(context.original)) ?? 0) + 1
      if (failed > times) return work?.(record, context)
      failures.set(placeName(context.original), failed)
      throw errorFor(error, record, failed, times)
    },
  })
}

function errorFor(error: unknown, record: KafkaRecord, failed: number, times: number): unknown {
  if (error === undefined) return new IntendedFailureError(failed, times)
  return typeof error === 'function' ? (error as (record: KafkaRecord) => unknown)(record) : error
}
