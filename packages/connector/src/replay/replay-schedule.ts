/**
 * The dead letters of a running binding, looked at from time to time (S0-138, S0-139):
 *
 *     SCHEDULED_REPLAY   those that have lain for `cooldownMs` are replayed, `batchSize` of them a run
 *     CUSTOM             the user's handler is asked about each, once it is there
 *
 *     IDLE ──intervalMs──▶ anything behind the position? ──yes──▶ RUN in the replay group ──▶ IDLE
 *       ▲                            └── no, or nothing is due yet, or the binding is paused ──┘
 *
 * One run at a time. Each instance of a process group has a schedule; who runs shares the partitions with the others that
 * run, so a dead letter is replayed by one of them. What a run cannot do, the next one does: a failure is logged and
 * changes nothing. A handler that fails over a dead letter is asked again in the next run, `maxReplays` times in all, and
 * then the dead letter is left where it is, so that it does not hold up those behind it.
 */

import type { KafkaRecord } from '@waybill/kafka'
import { partitionName } from '@waybill/kafka/internal'
import type { DeadLetterRecordHandler } from '../api/binding.ts'
import type { ReplayReport } from '../api/dead-letter-admin.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import type { ResolvedBinding, ResolvedReplay } from '../binding/resolved-binding.ts'
import { type DeadLetterDesk, type DeskDeps, deadAtOf, type Screen } from './dead-letter-desk.ts'
import { isOf, routeTo } from './replay-plan.ts'
import { replayableAt } from './replayable-at.ts'

/** What a schedule stands on. */
export interface ReplayScheduleDeps extends Pick<DeskDeps, 'binding' | 'runtime'> {
  /** The same binding for each topic that it reads now. */
  readonly parts: () => readonly ResolvedBinding[]
  readonly deskOf: (part: ResolvedBinding) => Pick<DeadLetterDesk, 'replay' | 'notReplayed'>
}

/** See the file's comment. */
export class ReplaySchedule {
  readonly #deps: ReplayScheduleDeps
  readonly #stopping = new AbortController()
  readonly #pausedBy = new Set<PauseReason>()
  /** How often the handler has failed over the dead letter it was asked about last, by partition. */
  readonly #failures = new Map<string, { readonly offset: bigint; readonly count: number }>()
  /** Before this no dead letter of a topic is due, by the monotonic clock: a wall clock that is set back must not stop it. */
  readonly #nextAt = new Map<string, number>()
  #loop: Promise<void> | undefined

  constructor(deps: ReplayScheduleDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Ends the run under way behind its batch, or at the deadline: a handler may ignore it. Never rejects. */
  async stop(deadlineMs: number): Promise<void> {
    const { binding, runtime } = this.#deps
    this.#stopping.abort()
    if (this.#loop === undefined) return
    const waiting = new AbortController()
    const timeUp = runtime.timers.sleep(deadlineMs, waiting.signal).then(
      () => runtime.logger.warn({ binding: binding.name }, 'A replay of dead letters did not end in time'),
      () => {}, // It did, and nobody waits any more.
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
    // Instances that were started together need not ask together.
    for (let waitMs = intervalMs * runtime.random(); await this.#sleep(waitMs); waitMs = intervalMs) {
      for (const part of this.#deps.parts()) await this.#tryToLook(part)
    }
  }

  /** False when there is no time any more. */
  async #sleep(ms: number): Promise<boolean> {
    const { signal } = this.#stopping
    const { promise, resolve } = Promise.withResolvers<void>()
    // Not a sleep: it must not keep a process alive that has nothing else to do.
    using _ = this.#deps.runtime.timers.schedule(ms, resolve)
    const abort = (): void => resolve()
    signal.addEventListener('abort', abort)
    if (!signal.aborted) await promise
    signal.removeEventListener('abort', abort)
    return !signal.aborted
  }

  /** Never rejects. */
  async #tryToLook(part: ResolvedBinding): Promise<void> {
    if (this.#stopping.signal.aborted) return
    try {
      await this.#look(part)
    } catch (err) {
      const where = { binding: part.name, topic: part.deadLetter.topic }
      this.#deps.runtime.logger.warn({ err, ...where }, 'Dead letters were not replayed; the next run will')
    }
  }

  async #look(part: ResolvedBinding): Promise<void> {
    const { runtime, deskOf } = this.#deps
    const { topic, replay, strategy, recordHandler } = part.deadLetter
    if (this.#pausedBy.size > 0 || runtime.clock.monotonic() < (this.#nextAt.get(topic) ?? 0)) return
    const desk = deskOf(part)
    if ((await desk.notReplayed()) === 0n) return
    const due = new DueTimes()
    const isCustom = strategy === 'CUSTOM' && recordHandler !== undefined
    const screen = isCustom ? this.#askHandler(recordHandler, part) : this.#whenRipe(due)
    const { signal } = this.#stopping
    const report = await desk.replay({ count: replay.batchSize, signal }, routeTo(part, replay.target), screen)
    const waitMs = isCustom ? 0 : due.waitMs(report, replay, runtime.clock.now())
    this.#nextAt.set(topic, runtime.clock.monotonic() + waitMs)
    if (report.replayed > 0 || Object.keys(report.skipped).length > 0)
      runtime.logger.info(
        { binding: part.name, topic, ...report, remaining: String(report.remaining) },
        'Dead letters were looked at',
      )
  }

  #whenRipe(due: DueTimes): Screen {
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

  #askHandler(handler: DeadLetterRecordHandler, part: ResolvedBinding): Screen {
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
        const text = isLast ? 'It was asked often enough; the dead letter stays where it is' : 'It is asked again'
        const where = { binding: binding.name, topic, partition, offset: String(offset) }
        runtime.logger.error({ err, ...where }, `The handler of dead letters failed. ${text}`)
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

/** When the dead letters are due that a run met too early. */
class DueTimes {
  #earliest = Number.POSITIVE_INFINITY

  add(at: number): void {
    this.#earliest = Math.min(this.#earliest, at)
  }

  /** How long nothing can be due after a run that ended so: what dies after it is due after the cooldown. */
  waitMs({ replayed, remaining }: ReplayReport, { batchSize, cooldownMs }: ResolvedReplay, nowMs: number): number {
    // The run ended for another reason than that nothing was due: more may be.
    if (replayed >= batchSize || (remaining > 0n && this.#earliest === Number.POSITIVE_INFINITY)) return 0
    return Math.max(0, Math.min(this.#earliest - nowMs, cooldownMs))
  }
}
