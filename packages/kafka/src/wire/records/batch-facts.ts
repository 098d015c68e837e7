/** What a record knows beside its own bytes. */

/** Where a record was fetched from, and under which assignment. */
export interface RecordOrigin {
  readonly topic: string
  readonly partition: number
  readonly epoch: number
}

/** What all records of a batch share. */
export interface BatchFacts {
  readonly origin: RecordOrigin
  readonly baseOffset: bigint
  readonly baseTimestamp: number
  /** Set when the broker stamped the batch: it then replaces the producer's timestamps. */
  readonly appendTime: number | null
}
