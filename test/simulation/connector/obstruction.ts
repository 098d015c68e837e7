/**
 * One lasting fault in an otherwise calm seed: everything it does not affect continues (L2), and operators are notified
 * (L4).
 */

import type { LogRecord } from './topic-log.ts'

/**
 * - STUCK_HANDLER: the first record of a partition never completes.
 * - FAILING_RECORD: it fails repeatedly.
 * - NO_DEAD_LETTER_TOPIC: every record of the partition should become a dead letter, and the topic is missing.
 * - DEAD_PROCESS: a process dies and is not restarted.
 */
export type ObstructionKind = 'STUCK_HANDLER' | 'FAILING_RECORD' | 'NO_DEAD_LETTER_TOPIC' | 'DEAD_PROCESS'

/** The drawn plan. */
export interface ObstructionPlan {
  readonly kind: ObstructionKind
  /** Partition of the source. */
  readonly partition: number
  /** Without progress for this long a partition turns health DOWN. */
  readonly stallAfterMs: number
}

/** The group whose records it affects. */
interface Grouped {
  readonly groupId: string
}

/** Its effect on a handler call. */
export type Hindrance = 'STICK' | 'FAIL' | 'DIE'

/** See the file's comment. */
export class Obstruction {
  readonly plan: ObstructionPlan | undefined
  /** Settles when it is over. */
  readonly ended: Promise<void>
  readonly #end: () => void
  /** The record that sticks or fails, by group. */
  readonly #victims = new Map<string, bigint>()
  #isOver: boolean

  constructor(plan: ObstructionPlan | undefined) {
    this.plan = plan
    this.#isOver = plan === undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    this.#end = resolve
  }

  end(): void {
    this.#isOver = true
    this.#end()
  }

  /** Returns true when it has affected a record of the group. */
  hasHit({ groupId }: Grouped): boolean {
    return this.#victims.has(groupId)
  }

  /** Returns true when this partition of a source or waiting topic may stall. */
  concerns(partition: number): boolean {
    return !this.#isOver && this.plan?.kind !== 'DEAD_PROCESS' && partition === this.plan?.partition
  }

  /** Returns its effect on a handler call, given the original. */
  hinders({ groupId }: Grouped, { partition, offset }: LogRecord): Hindrance | undefined {
    const { plan } = this
    if (plan === undefined || partition !== plan.partition || plan.kind === 'DEAD_PROCESS') return undefined
    if (plan.kind === 'NO_DEAD_LETTER_TOPIC') {
      this.#victims.set(groupId, offset)
      return 'DIE'
    }
    if (this.#isOver) return undefined
    if (!this.#victims.has(groupId)) this.#victims.set(groupId, offset)
    if (this.#victims.get(groupId) !== offset) return undefined
    return plan.kind === 'STUCK_HANDLER' ? 'STICK' : 'FAIL'
  }

  /** Returns true when the obstruction alone makes the record a dead letter. */
  kills({ partition }: Pick<LogRecord, 'partition'>): boolean {
    return this.plan?.kind === 'NO_DEAD_LETTER_TOPIC' && partition === this.plan.partition
  }
}
