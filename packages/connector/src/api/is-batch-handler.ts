import { hasMethods } from '@waybill/core/option'
import type { BatchHandler } from './handler-types.ts'

/** Returns whether a handler takes many records in one call. */
export function isBatchHandler(handler: unknown): handler is BatchHandler {
  return typeof handler === 'object' && hasMethods(handler, 'handleBatch')
}
