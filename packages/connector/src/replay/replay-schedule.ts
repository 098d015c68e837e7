/**
 * Processes the dead letters of a running binding periodically:
 *
 *     SCHEDULED_REPLAY   replays dead letters older than `cooldownMs`, `batchSize` of them per run
 *     CUSTOM             calls the user's handler for each dead letter
 *
 *     IDLE ──intervalMs──▶ anything after the position? ──yes──▶ RUN in the replay group ──▶ IDLE
 *       ▲                            └── no, or nothing is due yet, or the binding is paused ──┘
 *
 * One run at a time. Every instance has a schedule; concurrent runs share the partitions as members of the replay
 * group, so each dead letter is replayed by one of them. A failed run is logged and retried by the next one. A handler
 * that fails is called again in the next run, `maxReplays` times in all; then the dead letter is skipped, so that it
 * does not block those after it.
 */

import type { KafkaRecord } from '@waybill/kafka'
import { partitionName } from '@waybill/kafka/internal'
import type { ReplayReport } from '../api/dead-letter-admin.ts'
import type { DeadLetterRecordHandler } from '../api/dead-letter-types.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import type { ResolvedBinding, ResolvedReplay } from '../binding/resolved-binding.ts'
import type { DeadLetterDesk, DeskDeps, Screen } from './dead-letter-desk.ts'
import { isOf, routeTo } from './replay-plan.ts'
import { replayableAt } from './replayable-at.ts'
import { deadAtOf } from './stored-dead-letter.ts'

/** The dependencies of a schedule. */
export interface ReplayScheduleDeps extends Pick<DeskDeps, 'binding' | 'runtime'> {
  /** Returns the binding once for each topic it currently reads. */
  readonly parts: () => readonly ResolvedBinding[]
  readonly deskOf: (part: ResolvedBinding) => Pick<DeadLetterDesk, 'replay' | 'notReplayed'>
}

/** The replay schedule of one binding. */
export class ReplaySchedule {
  readonly #deps: ReplayScheduleDeps
  readonly #stopping = new AbortController()
  readonly #pausedBy = new Set<PauseReason>()
  /** The number of handler failures for the current dead letter of each partition. */
  readonly #failures = new Map<string, { readonly offset: bigint; readonly count: number }>()
  /**
   * The monotonic time before which no dead letter of a topic is due: setting the wall clock back must not delay it.
   */
  readonly #nextAt = new Map<string, number>()
  #loop: Promise<void> | undefined

  constructor(deps: ReplayScheduleDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Ends the current run after its batch, or at the deadline: a handler may ignore the stop. Never rejects. */
  async stop(deadlineMs: number): Promise<void> {
    const { binding, runtime } = this.#deps
    this.#stopping.abort()
    if (this.#loop === undefined) return
    const waiting = new AbortController()
    const timeUp = runtime.timers.sleep(deadlineMs, waiting.signal).then(
      () => runtime.logger.warn({ binding: binding.name }, 'Dead letter replay not finished before the stop deadline'),
      () => {}, // The run ended first.
    )
    await Promise.race([this.#loop, timeUp])
    waiting.abort()
  }

  pause(reason: PauseReason): void {
    this.#pausedBy.add(reason)
  }

  resume(reason: PauseReason): void {
    this.#pausedBy.delete(reason)
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { binding, runtime } = this.#deps
    const { intervalMs } = binding.deadLetter.replay
    // A random first delay spreads the requests of instances that start together.
    for (let waitMs = intervalMs * runtime.random(); await this.#sleep(waitMs); waitMs = intervalMs) {
      for (const part of this.#deps.parts()) await this.#tryReplay(part)
    }
  }

  /** Returns false when the schedule is stopped. */
  async #sleep(ms: number): Promise<boolean> {
    const { signal } = this.#stopping
    const { promise, resolve } = Promise.withResolvers<void>()
    // Not `timers.sleep`: the schedule must not keep an otherwise idle process alive.
    using _ = this.#deps.runtime.timers.schedule(ms, resolve)
    const abort = (): void => resolve()
    signal.addEventListener('abort', abort)
    if (!signal.aborted) await promise
    signal.removeEventListener('abort', abort)
    return !signal.aborted
  }

  /** Never rejects. */
  async #tryReplay(part: ResolvedBinding): Promise<void> {
    if (this.#stopping.signal.aborted) return
    try {
      await this.#replayDue(part)
    } catch (err) {
      const where = { binding: part.name, topic: part.deadLetter.topic }
      this.#deps.runtime.logger.warn({ err, ...where }, 'Dead letter replay failed, retrying in the next run')
    }
  }

  async #replayDue(part: ResolvedBinding): Promise<void> {
    const { runtime, deskOf } = this.#deps
    const { topic, replay, strategy, recordHandler } = part.deadLetter
    if (this.#pausedBy.size > 0 || runtime.clock.monotonic() < (this.#nextAt.get(topic) ?? 0)) return
    const desk = deskOf(part)
    if ((await desk.notReplayed()) === 0n) return
    const due = new DueTimes()
    const isCustom = strategy === 'CUSTOM' && recordHandler !== undefined
    const screen = isCustom ? this.#screenByHandler(recordHandler, part) : this.#screenByAge(due)
    const { signal } = this.#stopping
    const report = await desk.replay({ count: replay.batchSize, signal }, routeTo(part, replay.target), screen)
    const waitMs = isCustom ? 0 : due.waitMs(report, replay, runtime.clock.now())
    this.#nextAt.set(topic, runtime.clock.monotonic() + waitMs)
    if (report.replayed > 0 || Object.keys(report.skipped).length > 0)
      runtime.logger.info(
        { binding: part.name, topic, ...report, remaining: String(report.remaining) },
        'Dead letters replayed',
      )
  }

  #screenByAge(due: DueTimes): Screen {
    const { binding, runtime } = this.#deps
    const { cooldownMs } = binding.deadLetter.replay
    return async (letter, record) => {
      if (this.#stopping.signal.aborted) return 'NOT_NOW'
      const now = runtime.clock.now()
      const at = replayableAt(deadAtOf(letter, record), cooldownMs, now)
      if (at <= now) return undefined
      due.add(at)
      return 'NOT_NOW'
    }
  }

  #screenByHandler(handler: DeadLetterRecordHandler, part: ResolvedBinding): Screen {
    const { binding, runtime } = this.#deps
    return async (letter, record) => {
      if (this.#stopping.signal.aborted) return 'NOT_NOW'
      if (!isOf(letter, part)) return 'NOT_OURS'
      try {
        const decision = await handler.handle(letter.record)
        this.#failures.delete(partitionName(record))
        return decision === 'REPLAY' ? undefined : 'KEPT'
      } catch (err) {
        const isLast = this.#failed(record) >= binding.deadLetter.replay.maxReplays
        const { topic, partition, offset } = record
        const where = { binding: binding.name, topic, partition, offset: String(offset) }
        runtime.logger.error({ err, ...where, willRetry: !isLast }, 'Dead letter handler failed')
        return isLast ? 'HANDLER_FAILED' : 'NOT_NOW'
      }
    }
  }

  #failed(record: KafkaRecord): number {
    const name = partitionName(record)
    const known = this.#failures.get(name)
    const count = known?.offset === record.offset ? known.count + 1 : 1
    this.#failures.set(name, { offset: record.offset, count })
    return count
  }
}

/** The due times of the dead letters that a run met too early. */
class DueTimes {
  #earliest = Number.POSITIVE_INFINITY

  add(at: number): void {
    this.#earliest = Math.min(this.#earliest, at)
  }

  /** Returns how long nothing can be due after this run: a record that fails after it is due after the cooldown. */
  waitMs({ replayed, remaining }: ReplayReport, { batchSize, cooldownMs }: ResolvedReplay, nowMs: number): number {
    // The run ended at its limit or early, so more dead letters may be due.
    if (replayed >= batchSize || (remaining > 0n && this.#earliest === Number.POSITIVE_INFINITY)) return 0
    return Math.max(0, Math.min(this.#earliest - nowMs, cooldownMs))
  }
}
