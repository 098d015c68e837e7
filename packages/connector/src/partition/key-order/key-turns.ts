/**
 * Runs one turn of a key: delivers its next record and applies the outcome. The slot is held until the outcome is decided,
 * the lane until no record can overtake this one: it is settled, or in the chain of its key.
 */

import { UnreachableError } from '@waybill/core'
import type { OutRecord } from '@waybill/kafka'
import type { Outcome } from '../../delivery/outcome.ts'
import { isUnverified } from '../../delivery/verify-replay.ts'
import type { Work } from '../../delivery/work.ts'
import { deadLetterRecord } from '../../records/dead-letter-record.ts'
import { announceReplay } from '../announce-replay.ts'
import { applyPause } from '../apply-pause.ts'
import type { DerivedWrites } from '../derived-writes.ts'
import type { WorkerDeps } from '../partition-worker.ts'
import type { PauseSet } from '../pause-set.ts'
import type { WorkerScope } from '../worker-scope.ts'
import type { HoldStep, KeyChains, RunStep } from './key-chains.ts'
import { keyOf } from './original.ts'
import type { WaitingLog } from './waiting-log.ts'

/** The collaborators of turns. */
export interface TurnDeps {
  readonly worker: WorkerDeps
  readonly log: WaitingLog
  readonly chains: KeyChains
  readonly pauses: PauseSet
  readonly scope: WorkerScope
  readonly writes: DerivedWrites
  /** Returns true for a late result of an old assignment, or of a log that was cut: it changes nothing. */
  readonly isStale: (step: RunStep) => boolean
  /** Settles a record of the source. */
  readonly settleSource: (work: Work, as: 'OK' | 'SKIPPED' | 'DEAD') => void
  /** Called when a record of the source is held (negative), or is back in its lane. */
  readonly buffered: (bytes: number) => void
  /** Called when a record of the source starts. */
  readonly started: (bytes: number) => void
  /** Called when its turn is over. */
  readonly ended: (bytes: number) => void
  readonly changed: (offset: bigint) => void
}

/** The turns of one partition. */
export class KeyTurns {
  readonly #deps: TurnDeps
  /** By turn, not by record: a record that was put back may start again before its last turn is over. */
  readonly #running = new Set<RunStep>()
  #publishing = 0

  constructor(deps: TurnDeps) {
    this.#deps = deps
  }

  /** The number of turns without a confirmed outcome. */
  get running(): number {
    return this.#running.size
  }

  /** The number of unconfirmed dead letters. */
  get publishing(): number {
    return this.#publishing
  }

  /** Monotonic. */
  get runningSince(): number | undefined {
    const [oldest] = this.#running
    return oldest?.work.startedAt
  }

  /** Runs a turn on a slot that was taken for it. Never rejects. */
  async run(step: RunStep): Promise<void> {
    const { slots, delivery, fail } = this.#deps.worker
    this.#start(step)
    let outcome: Outcome | 'FORGED' | undefined
    try {
      // Its key may be blocked, so a replay that turns out to be forged is delivered in another turn.
      const { work } = step
      const { scope } = this.#deps
      outcome = await (isUnverified(work) ? delivery.verify(work, scope) : delivery.deliver(work, scope))
    } catch (error) {
      fail(error)
    }
    slots.release()
    try {
      if (outcome !== undefined) await this.#decided(step, outcome)
    } catch (error) {
      fail(error)
    }
    this.#running.delete(step)
    if (step.entry === undefined) this.#deps.ended(step.work.bytes)
    this.#deps.scope.look()
  }

  /** Puts a record behind those of its blocked key, without an attempt. */
  hold({ work, lane }: HoldStep): void {
    const { log, worker, buffered } = this.#deps
    buffered(-work.bytes)
    if (log.isOnItsWay(work, lane)) return undefined
    if (log.has(work, lane)) return this.#skip(work) // A copy waits that is no duplicate, as far as the source shows.
    log.hold(work, lane, { tier: 0, attempt: 1, dueMs: worker.runtime.clock.now() }, undefined)
  }

  #skip(work: Work): void {
    this.#deps.settleSource(work, 'SKIPPED')
    this.#deps.changed(work.offset)
  }

  #start(step: RunStep): void {
    const { work, entry } = step
    work.startedAt = this.#deps.worker.runtime.clock.monotonic()
    this.#running.add(step)
    if (entry === undefined) this.#deps.started(work.bytes)
    else entry.isRunning = true
  }

  async #decided(step: RunStep, outcome: Outcome | 'FORGED'): Promise<void> {
    if (this.#deps.isStale(step)) return this.#free(step)
    if (outcome === 'FORGED') return this.#putBack(step)
    // A dead letter settles its record when it is confirmed.
    if (outcome.kind !== 'PAUSE' && outcome.kind !== 'DEAD_LETTER')
      announceReplay(step.work, outcome.kind, this.#deps.worker.binding)
    switch (outcome.kind) {
      case 'DONE':
        return this.#finish(step, 'OK')
      case 'SKIP':
        this.#deps.worker.telemetry.skipped(step.work.record.topic, outcome.cause)
        return this.#finish(step, 'SKIPPED')
      case 'RETRY':
        return this.#retry(step, outcome)
      case 'DEAD_LETTER':
        return this.#bury(step, outcome)
      case 'PAUSE':
        return this.#keep(step, outcome)
      default:
        throw new UnreachableError(outcome)
    }
  }

  #free(step: RunStep): void {
    if (step.entry !== undefined) step.entry.isRunning = false
    this.#deps.chains.done(step)
  }

  /** A held record that is skipped counts as handled: every original that left the source has one outcome. */
  #finish(step: RunStep, as: 'OK' | 'SKIPPED' | 'DEAD'): void {
    const { log, settleSource, changed, worker } = this.#deps
    const { work, entry } = step
    if (as === 'OK') worker.telemetry.processed(work.record.topic, work.record.partition)
    if (entry === undefined) {
      settleSource(work, as)
      if (log.hasRequests) log.sourceFinished(work, step.lane, as !== 'DEAD')
    } else log.finish(entry, as === 'DEAD' ? 'DEAD' : 'OK')
    this.#free(step)
    changed(work.offset)
  }

  /** Blocks the key before its lane is free, so that nothing overtakes the record. */
  #retry(step: RunStep, outcome: Extract<Outcome, { kind: 'RETRY' }>): void {
    const { log, worker } = this.#deps
    const { tier, attempt, failure } = outcome
    const delayMs = worker.binding.tiers[tier - 1]?.delayMs ?? 0
    const next = { tier, attempt, dueMs: worker.runtime.clock.now() + delayMs }
    if (step.entry === undefined) log.hold(step.work, step.lane, next, failure)
    else log.holdAgain(step.entry, next, failure)
    this.#free(step)
  }

  async #bury(step: RunStep, outcome: Extract<Outcome, { kind: 'DEAD_LETTER' }>): Promise<void> {
    const { worker, log, isStale } = this.#deps
    const { binding, deadLettered, runtime } = worker
    const { work, entry } = step
    const hop = work.hop(outcome.failure, runtime.clock.now())
    // As it was fetched: a replay finds the original by its key, even if the handler changed the record's.
    const record = { ...deadLetterRecord(hop, outcome.reason, binding.deadLetter), key: keyOf(step.lane) }
    if (!(await this.#publish(record))) return
    deadLettered({ work, written: record, outcome })
    announceReplay(work, 'DEAD_LETTER', binding)
    if (isStale(step)) return this.#free(step)
    if (binding.onDeadKey === 'RELEASE' || work.record.key === null) return this.#finish(step, 'DEAD')
    log.block(work, step.lane, entry)
    this.#free(step)
  }

  /** See {@link DerivedWrites.confirm}. */
  async #publish(record: OutRecord): Promise<boolean> {
    this.#publishing++
    try {
      return await this.#deps.writes.confirm(record, 'dlt')
    } finally {
      this.#publishing--
    }
  }

  /** Keeps a record where it is. */
  #keep(step: RunStep, outcome: Extract<Outcome, { kind: 'PAUSE' }>): void {
    const { worker, pauses } = this.#deps
    const dueAt = applyPause(step.work, outcome, pauses, worker)
    if (dueAt !== undefined) (step.entry ?? step.work).dueAt = dueAt
    this.#putBack(step)
  }

  #putBack(step: RunStep): void {
    const { chains, scope, buffered } = this.#deps
    const { work, entry } = step
    work.startedAt = undefined
    if (entry !== undefined) entry.isRunning = false
    else if (!scope.isRunning)
      return chains.done(step) // The next owner reads it from the source.
    else buffered(work.bytes)
    chains.putBack(step)
  }
}
