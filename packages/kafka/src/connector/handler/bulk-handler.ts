import type { BulkHandler } from '../binding.ts'
import { hasFunction } from '../option/has-function.ts'

/** Whether a handler takes many records in a call. */
export function isBulkHandler(handler: unknown): handler is BulkHandler {
  return hasFunction(handler, 'bulk')
}
