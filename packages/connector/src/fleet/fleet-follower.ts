/**
 * Reads the log of a fleet from its start, then follows it, and folds it into a {@link FleetState}.
 *
 *     UNREAD ──read to the end──▶ KNOWN ──a read fails──▶ SILENT ──a read succeeds──▶ KNOWN
 *
 * Members age only while the log is read: a process that cannot read it must not take the others for dead.
 */

import { describeThrown, type Runtime } from '@waybill/core'
import type { SharedLog, SharedLogEntry, SharedLogRead } from '@waybill/core/internal'
import type { ControlReach } from '../api/control.ts'
import { Changes } from './changes.ts'
import type { FleetEntry } from './fleet-entry.ts'
import { FleetState } from './fleet-state.ts'

/** The dependencies of a follower. */
export interface FollowerDeps {
  readonly log: SharedLog
  readonly pollMs: number
  readonly runtime: Runtime
  readonly signal: AbortSignal
  /** Called with each entry, in the order of the log. */
  readonly saw: (entry: FleetEntry, from: SharedLogEntry) => void
  /** Called after each read. */
  readonly hasRead: () => void
  /** Called when the log was deleted and created again. */
  readonly reset: () => void
}

const firstBackoffMs = 200
const longestBackoffMs = 5_000

/** See the file's comment. */
export class FleetFollower {
  readonly changes: Changes
  readonly #deps: FollowerDeps
  #state = new FleetState()
  #next: string | undefined
  #isKnown = false
  #trouble: string | undefined
  #readAt = 0
  #running: Promise<void> | undefined
  #hasWarned = false

  constructor(deps: FollowerDeps) {
    this.#deps = deps
    this.changes = new Changes(deps.runtime.timers)
  }

  get state(): FleetState {
    return this.#state
  }

  /** The monotonic time at which the end of the log was last reached. */
  get readAt(): number {
    return this.#readAt
  }

  get reach(): ControlReach {
    return { trouble: this.#trouble, isKnown: this.#isKnown }
  }

  start(): void {
    this.#running ??= this.#follow()
  }

  /** Resolves when reading has ended, after the signal. */
  async ended(): Promise<void> {
    await this.#running
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    const { log, pollMs, signal } = this.#deps
    for (let backoffMs = firstBackoffMs; !signal.aborted; ) {
      try {
        this.#take(await log.read(this.#next, { waitMs: pollMs, signal }))
        backoffMs = firstBackoffMs
      } catch (error) {
        if (signal.aborted) return
        this.#failed(error)
        await this.changes.next(backoffMs, signal).catch(() => {})
        backoffMs = Math.min(longestBackoffMs, backoffMs * 2)
      }
    }
  }

  #take({ entries, next, isAtEnd, isReset }: SharedLogRead): void {
    const { runtime, saw, hasRead, reset } = this.#deps
    const now = runtime.clock.monotonic()
    if (isReset) {
      runtime.logger.warn({}, 'Control log was created again, reading from its start')
      this.#state = new FleetState()
      reset()
    }
    for (const from of entries) {
      const entry = this.#state.take(from, now)
      if (entry.kind === 'UNKNOWN') this.#warnOnce(from.key, entry.why)
      saw(entry, from)
    }
    this.#next = next
    if (this.#trouble !== undefined) runtime.logger.info({ trouble: this.#trouble }, 'Control log readable again')
    this.#trouble = undefined
    if (isAtEnd) {
      this.#readAt = now
      this.#isKnown = true
    }
    hasRead()
    this.changes.notify()
  }

  #failed(error: unknown): void {
    const trouble = describeThrown(error)
    if (this.#trouble === undefined)
      this.#deps.runtime.logger.warn({ err: error }, 'Control log not readable, retrying')
    this.#trouble = trouble
  }

  #warnOnce(key: string, why: string): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#deps.runtime.logger.warn({ key, why }, 'Control entry ignored')
  }
}
