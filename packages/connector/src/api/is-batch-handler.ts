import { hasMethods } from '@waybill/core/option'
import type { BatchHandler } from './handler-types.ts'

/** Whether a handler takes many records in a call. */
export function isBatchHandler(handler: unknown): handler is BatchHandler {
  return typeof handler === 'object' && hasMethods(handler, 'handleBatch')
}
