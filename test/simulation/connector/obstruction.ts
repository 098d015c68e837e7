/**
 * One lasting fault in an otherwise calm seed: everything that it does not concern goes on (L2), and whoever runs the connector is
 * told (L4).
 */

import type { LogRecord } from './topic-log.ts'

/**
 * - STUCK_HANDLER: the first record of a partition is never done with.
 * - FAILING_RECORD: it fails again and again.
 * - NO_DEAD_LETTER_TOPIC: every record of the partition is to be a dead letter, and there is no topic for it.
 * - DEAD_PROCESS: a process dies and does not come back.
 */
export type ObstructionKind = 'STUCK_HANDLER' | 'FAILING_RECORD' | 'NO_DEAD_LETTER_TOPIC' | 'DEAD_PROCESS'

/** What is drawn. */
export interface ObstructionPlan {
  readonly kind: ObstructionKind
  /** Of the source. */
  readonly partition: number
  /** Without progress for this long a partition is to turn health DOWN. */
  readonly stallAfterMs: number
}

/** Whose records meet it. */
interface Grouped {
  readonly groupId: string
}

/** What a call of a handler is to do because of it. */
export type Hindrance = 'STICK' | 'FAIL' | 'DIE'

/** See the file's comment. */
export class Obstruction {
  readonly plan: ObstructionPlan | undefined
  /** Settles when it is over. */
  readonly ended: Promise<void>
  readonly #end: () => void
  /** The record that sticks or fails, of each group. */
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

  /** Whether a record of the group has met it. */
  hasHit({ groupId }: Grouped): boolean {
    return this.#victims.has(groupId)
  }

  /** Whether this partition of a source or waiting topic may stand still. */
  concerns(partition: number): boolean {
    return !this.#isOver && this.plan?.kind !== 'DEAD_PROCESS' && partition === this.plan?.partition
  }

  /** What keeps a handler from its work, given the original it works on. */
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

  /** Whether the record is a dead letter by the obstruction alone. */
  kills({ partition }: Pick<LogRecord, 'partition'>): boolean {
    return this.plan?.kind === 'NO_DEAD_LETTER_TOPIC' && partition === this.plan.partition
  }
}
