import type { TxContext } from '@waybill/core'

/** The reported outcomes of transactions. */
export class Seen {
  readonly calls: string[] = []

  listenTo(context: TxContext): void {
    context.afterCommit(() => this.calls.push('committed'))
    context.afterRollback((end) => this.calls.push(end === 'UNKNOWN' ? 'unknown' : 'rolled back'))
  }
}
