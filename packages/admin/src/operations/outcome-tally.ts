/**
 * Counts the outcomes of copies in this process, and writes them to the store: absolute counts under a name of this run of
 * the process, so that a repeated write changes nothing.
 */

import { createUlidGenerator, type EngineEvents, onEngineEvent, type Runtime } from '@waybill/core'
import type { OperationStore, ReplayOutcomes } from '@waybill/core/internal'

// The events are declared by the connector.
type Settled = EngineEvents['replay:settled']

interface Counted {
  readonly name: string
  outcomes: ReplayOutcomes
  isChanged: boolean
  /** Undefined until the store was asked. False: a record only claims to be a copy of an operation. */
  isKnown: boolean | undefined
}

const flushMs = 1_000
/** Operations that are counted at the same time: ids come from headers. */
const maxOperations = 1_000

const none: ReplayOutcomes = { succeeded: 0n, retrying: 0n, failedAgain: 0n, skipped: 0n }

/** Returns the counts after an outcome. A copy in a retry tier counts as retrying until it is settled there. */
export function countOutcome(
  counts: ReplayOutcomes,
  { outcome, isFirst }: Pick<Settled, 'outcome' | 'isFirst'>,
): ReplayOutcomes {
  const retrying = counts.retrying - (isFirst ? 0n : 1n)
  switch (outcome) {
    case 'DONE':
      return { ...counts, succeeded: counts.succeeded + 1n, retrying }
    case 'SKIP':
      return { ...counts, skipped: counts.skipped + 1n, retrying }
    case 'DEAD_LETTER':
      return { ...counts, failedAgain: counts.failedAgain + 1n, retrying }
    case 'RETRY':
      return { ...counts, retrying: retrying + 1n }
  }
}

/** Counts outcomes from its creation until it is closed. */
export class OutcomeTally {
  readonly #store: Pick<OperationStore, 'tally' | 'get'>
  readonly #runtime: Runtime
  readonly #instance: string
  readonly #nextId: () => string
  readonly #counted = new Map<string, Counted>()
  readonly #subscription: Disposable
  readonly #closing = new AbortController()
  readonly #flushing: Promise<void>
  #wake: () => void = () => {}

  constructor(store: Pick<OperationStore, 'tally' | 'get'>, instance: string, runtime: Runtime) {
    this.#store = store
    this.#runtime = runtime
    this.#instance = instance
    this.#nextId = createUlidGenerator(runtime)
    this.#subscription = onEngineEvent('replay:settled', (event) => this.#count(event))
    this.#flushing = this.#run()
  }

  /** Writes what was counted, and stops counting. Never rejects. */
  async close(): Promise<void> {
    this.#subscription[Symbol.dispose]()
    this.#closing.abort()
    this.#wake()
    await this.#flushing
    await this.#flush()
  }

  #count(event: Settled): void {
    const { operation } = event
    let counted = this.#counted.get(operation)
    if (counted === undefined) {
      // Under a name of its own: the counts of an operation that was forgotten start anew.
      counted = { name: `${this.#instance}/${this.#nextId()}`, outcomes: none, isChanged: false, isKnown: undefined }
      this.#counted.set(operation, counted)
      this.#makeRoom()
    }
    counted.outcomes = countOutcome(counted.outcomes, event)
    counted.isChanged = true
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await this.#sleep()
      await this.#flush()
    }
  }

  async #sleep(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    // Not `timers.sleep`: a process without operations must not be kept alive.
    using _ = this.#runtime.timers.schedule(flushMs, resolve)
    this.#wake = resolve
    if (this.#closing.signal.aborted) resolve()
    await promise
  }

  async #flush(): Promise<void> {
    for (const [id, counted] of this.#counted) {
      if (!counted.isChanged || counted.isKnown === false) continue
      counted.isChanged = false
      try {
        counted.isKnown ??= (await this.#store.get(id)) !== undefined
        if (counted.isKnown) await this.#store.tally(id, counted.name, counted.outcomes)
      } catch (err) {
        counted.isChanged = true
        this.#runtime.logger.warn({ err, operation: id }, 'Outcomes of an operation not written, retrying')
      }
    }
  }

  #makeRoom(): void {
    for (const [id, { isChanged }] of this.#counted) {
      if (this.#counted.size <= maxOperations) return
      if (!isChanged) this.#counted.delete(id)
    }
  }
}
