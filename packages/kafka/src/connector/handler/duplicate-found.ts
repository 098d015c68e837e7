import { StateError } from '@waybill/core'

/**
 * What a call rejects with when it finds that the record had its effect before, and leaves it at that. No failure: the
 * record is settled as skipped, and the circuit breaker learns nothing of it.
 */
export const duplicateFound: Error = Object.freeze(new StateError('The record had its effect before.'))
