/** The outcome of a rebalance, as one member of the group sees it. */
export type GroupRebalance =
  | {
      /** The member joined a generation. */
      readonly outcome: 'COMPLETED'
      readonly generation: number
    }
  | {
      /** The member could not join: it retries, or has failed permanently. */
      readonly outcome: 'FAILED'
      readonly why: string
    }
