import { types } from 'node:util'

/**
 * Drops the rejection of a promise that was returned where a plain value was required. The caller reports the wrong value;
 * an unhandled rejection would end the process. Ignores anything that is not a promise.
 */
export function takeRejection(answer: unknown): void {
  // Not its own `then`, which may be anything.
  if (types.isPromise(answer)) void Promise.prototype.then.call(answer, undefined, () => {})
}
