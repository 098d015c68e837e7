import type { StoredRow } from '@waybill/core/internal'

/** A row that two tables of a projection do not have in common. */
export interface RowDifference {
  readonly key: string
  readonly live: StoredRow | undefined
  readonly built: StoredRow | undefined
}
