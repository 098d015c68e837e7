import { hasMethods } from '@waybill/core/option'
import type { BulkHandler } from './binding.ts'

/** Whether a handler takes many records in a call. */
export function isBulkHandler(handler: unknown): handler is BulkHandler {
  return typeof handler === 'object' && hasMethods(handler, 'bulk')
}
