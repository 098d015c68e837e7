import { types } from 'node:util'
import { instance, type Rule } from '@waybill/core/option'

/** A function that answers at once: the promise of an async one is no answer to what must be decided now. */
export function plainFunction<T>(): Rule<T> {
  return instance<T>(
    'a function that is not async',
    (value) => typeof value === 'function' && !types.isAsyncFunction(value),
  )
}
