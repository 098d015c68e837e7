import { types } from 'node:util'

/**
 * For who refuses an answer that is a promise: what it rejects with is taken, and told to nobody. The refusal is what went
 * wrong; a rejection that nobody takes would end the process. Of anything else nothing is asked.
 */
export function takeRejection(answer: unknown): void {
  // Not the `then` of its own: that may be anything.
  if (types.isPromise(answer)) void Promise.prototype.then.call(answer, undefined, () => {})
}
