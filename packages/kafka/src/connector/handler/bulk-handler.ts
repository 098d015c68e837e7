import type { BulkHandler } from '../binding.ts'

/** Whether a handler takes many records in a call. */
export function isBulkHandler(handler: unknown): handler is BulkHandler {
  return typeof handler === 'object' && handler !== null && typeof Reflect.get(handler, 'bulk') === 'function'
}
