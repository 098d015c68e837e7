/** An operation that an operator requests. Each has its entries in the audit log. */
export type ProjectionOperation =
  /** Lists quarantined keys, or previews a release. */
  | 'READ_QUARANTINE'
  | 'RELEASE_KEY'
  | 'ACCEPT_ROW'
  /** Starts or continues a rebuild. */
  | 'REBUILD'
  /** Makes the table that was built the live one. */
  | 'SWITCH_TABLE'
  | 'ROLL_BACK_TABLE'
  | 'CANCEL_REBUILD'
  /** Drops tables that are not live. */
  | 'DROP_TABLES'
