import { ArgumentError } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { IntendedFailureError } from './intended-failure-error.ts'
import {
  createRecordingHandler,
  type HandlerContext,
  type RecordingHandler,
  type RecordingHandlerOptions,
} from './recording-handler.ts'

/** Options of {@link createFailingHandler}. */
export interface FailingHandlerOptions extends RecordingHandlerOptions {
  /** What a failing call throws: the value, or what a function makes of the record. @defaultValue an {@link IntendedFailureError} */
  readonly error?: unknown
}

/**
 * Makes a handler whose first `times` calls for each record fail, in whatever tier they are, and the next ones succeed.
 * Infinity fails for ever.
 */
export function createFailingHandler(times: number, options: FailingHandlerOptions = {}): RecordingHandler {
  if (!(times >= 0)) throw new ArgumentError(`A handler cannot fail ${times} times.`)
  const { error, work, ...rest } = options
  const failures = new Map<string, number>()
  return createRecordingHandler({
    ...rest,
    async work(record, context) {
      const failed = (failures.get(nameOf(context)) ?? 0) + 1
      if (failed > times) return work?.(record, context)
      failures.set(nameOf(context), failed)
      throw errorFor(error, record, failed, times)
    },
  })
}

/** A record is the same one in every tier. */
function nameOf({ original }: HandlerContext): string {
  return `${original.topic}-${original.partition}@${original.offset}`
}

function errorFor(error: unknown, record: KafkaRecord, failed: number, times: number): unknown {
  if (error === undefined) return new IntendedFailureError(failed, times)
  return typeof error === 'function' ? (error as (record: KafkaRecord) => unknown)(record) : error
}
