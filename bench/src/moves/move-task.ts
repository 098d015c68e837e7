/** The task of a contestant: one more member joins a full group and leaves it, again and again. */
export interface MoveTask {
  readonly topic: string
  /** Members of the group with the newcomer. */
  readonly members: number
  readonly partitions: number
  /** The time that a member takes to release partitions. */
  readonly drainMs: number
  readonly heartbeatIntervalMs: number
  /** The quiet time before each move, one for each move. */
  readonly quietMs: readonly number[]
}

/** The results of a contestant, one value for each move. */
export interface MoveTimes {
  /** From the start of the newcomer until it owns a partition. */
  readonly owningMs: readonly number[]
  /** The longest time of a moving partition from its release until the newcomer owns it. */
  readonly ownerlessMs: readonly number[]
  /** Heartbeats of all members from one move to the next. Absent for a contestant that does not count them. */
  readonly heartbeats?: readonly number[]
}
