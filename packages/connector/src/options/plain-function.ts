import { types } from 'node:util'
import { instance, type Rule } from '@waybill/core/option'

/** Returns a rule for synchronous functions. */
export function plainFunction<T>(): Rule<T> {
  return instance<T>(
    'a function that is not async',
    (value) => typeof value === 'function' && !types.isAsyncFunction(value),
  )
}
