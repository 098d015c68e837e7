/** Facts about a record that its own bytes do not hold. */

/** The origin of a record, and the assignment under which it was fetched. */
export interface RecordOrigin {
  readonly topic: string
  readonly partition: number
  readonly epoch: number
}

/** Facts that all records of a batch share. */
export interface BatchFacts {
  readonly origin: RecordOrigin
  readonly baseOffset: bigint
  readonly baseTimestamp: number
  /** The broker's timestamp, which replaces those of the producer; set for topics that stamp on append. */
  readonly appendTime: number | null
}
