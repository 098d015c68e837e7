import type { KafkaRecord } from '@waybill/kafka'
import { requireFunction, requireNumber, requireOptions } from '../require-argument.ts'
import { IntendedFailureError } from './intended-failure-error.ts'
import { placeName } from './place-name.ts'
import {
  createRecordingHandler,
  type HandlerContext,
  type RecordingHandler,
  type RecordingHandlerOptions,
  workIsCalled,
} from './recording-handler.ts'

/** Options of {@link createFailingHandler}. */
export interface FailingHandlerOptions<C extends HandlerContext = HandlerContext> extends RecordingHandlerOptions<C> {
  /**
   * Error of a failing call: a value, or a function from the record to the error. @defaultValue an {@link
   * IntendedFailureError}
   */
  readonly error?: unknown
}

/**
 * Creates a handler whose first `times` calls for each record fail, across all tiers, and later ones succeed. Infinity
 * always fails.
 */
export function createFailingHandler<C extends HandlerContext = HandlerContext>(
  times: number,
  options: FailingHandlerOptions<C> = {},
): RecordingHandler<C> {
  const next = 'Write createFailingHandler(2) for two failures of each record, Infinity to fail always.'
  requireNumber('createFailingHandler()', 'how often a record fails, a number of 0 or more', times, next)
  requireOptions('createFailingHandler()', options, 'Write createFailingHandler(2, { work: shipOrder }).')
  const { error, work, ...rest } = options
  if (work !== undefined) requireFunction('createFailingHandler()', 'a function as `work`', work, workIsCalled)
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
