import type { OutRecord } from '../../client/types.ts'
import type { Outcome } from '../delivery/outcome.ts'
import type { ResolvedTier } from '../option/resolved-binding.ts'
import { deadLetterRecord } from '../record/dead-letter-record.ts'
import { retryRecord } from '../record/retry-record.ts'
import type { DerivedWrites } from './derived-writes.ts'
import type { ConfirmedDeadLetter, WorkerDeps } from './partition-worker.ts'
import type { Work } from './work.ts'
import type { WorkerScope } from './worker-scope.ts'

/** An outcome that is settled once another topic has the record. */
export type Moved = Extract<Outcome, { kind: 'RETRY' | 'DEAD_LETTER' }>

/** Moves records of one partition on, to a tier or to the dead letters. */
export class RecordMover {
  readonly #deps: Pick<WorkerDeps, 'binding' | 'runtime' | 'deadLettered'>
  readonly #writes: DerivedWrites
  readonly #scope: WorkerScope
  #unconfirmed = 0

  constructor(
    deps: Pick<WorkerDeps, 'binding' | 'runtime' | 'deadLettered'>,
    writes: DerivedWrites,
    scope: WorkerScope,
  ) {
    this.#deps = deps
    this.#writes = writes
    this.#scope = scope
  }

  /** Records that another topic may or may not have. */
  get unconfirmed(): number {
    return this.#unconfirmed
  }

  /** Resolves with true once the other topic has the record. False: given up because the time is over. */
  move(work: Work, outcome: Moved): Promise<boolean> {
    const { binding, runtime } = this.#deps
    const hop = work.hop(outcome.failure, runtime.clock.now())
    if (outcome.kind === 'DEAD_LETTER') {
      const written = deadLetterRecord(hop, outcome.reason, binding.deadLetter)
      return this.#confirm(written, { work, written, outcome })
    }
    const { tier, attempt } = outcome
    const { topic } = binding.tiers[tier - 1] as ResolvedTier
    return this.#confirm(retryRecord(hop, { topic, tier, attempt }), undefined)
  }

  /** Thousands wait here where every record fails: of a retry nothing is kept but what is written, not what was thrown. */
  async #confirm(record: OutRecord, letter: ConfirmedDeadLetter | undefined): Promise<boolean> {
    this.#unconfirmed++
    try {
      if (!(await this.#writes.confirm(record, letter === undefined ? 'retry' : 'dlt'))) return false
    } finally {
      this.#unconfirmed--
      this.#scope.look()
    }
    if (letter !== undefined) this.#deps.deadLettered(letter)
    return true
  }
}
