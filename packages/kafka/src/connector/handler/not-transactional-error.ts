import { StateError } from '@waybill/core'

/** A handler sends outputs, and its binding has no transactions to write them in: that is how it was declared. */
export class NotTransactionalError extends StateError {
  static override readonly code = 'WAYBILL_NOT_TRANSACTIONAL'

  constructor(binding: string) {
    super(`Binding ${binding} is not transactional.`, {
      kept: 'Nothing was written.',
      next: 'Set transactional: true, or use a producer of your own; then replay the records that failed with this.',
    })
  }
}
