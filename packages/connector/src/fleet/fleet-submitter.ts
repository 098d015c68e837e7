/**
 * Submits commands and collects their answers.
 *
 *     who is alive? ─▶ command into the log ─▶ answers ─▶ all are there, or time is up: the rest is NO_ANSWER
 *
 * | failure | consequence |
 * |---|---|
 * | the log cannot be read | ControlUnreachableError; nothing is submitted |
 * | the append fails, and the command does not show in the log in time | CommandUnknownError |
 * | the append fails, and the command shows in the log | the answers are collected |
 * | an instance was not heard of lately | it is NO_ANSWER at once, though it may be alive and cut off |
 * | this process dies | the instances apply the command, and others write its desired state |
 */

import { createUlidGenerator, type OperatorIdentity } from '@waybill/core'
import type { UlidGenerator } from '@waybill/core/internal'
import type { ControlTarget, InstanceAnswer } from '../api/control.ts'
import { type AnswerEntry, type CommandEntry, commandKey, desiredKey, valueOf } from './fleet-entry.ts'
import { CommandUnknownError, ControlUnreachableError } from './fleet-errors.ts'
import type { FleetFollower } from './fleet-follower.ts'
import { isAlive, isOver, membersWith, noAnswer } from './fleet-members.ts'
import type { FleetSettings } from './fleet-options.ts'
import { type FleetMember, type IsOver, isStateCommand } from './fleet-state.ts'
import { InstanceFailedError } from './instance-failed-error.ts'
import type { LogWriter } from './log-writer.ts'
import type { OwnInstance } from './own-instance.ts'

/** The dependencies of a submitter. */
export interface SubmitterDeps {
  readonly settings: FleetSettings
  readonly follower: FleetFollower
  readonly writer: LogWriter
  readonly own: () => OwnInstance | undefined
  /** Returns whether the time of a command's answers is over. */
  readonly isOver: IsOver
  readonly signal: AbortSignal
}

/** A command with its answers. */
export interface Asked {
  readonly id: string
  /** The answers of those that were alive. That of this process is first. */
  readonly answers: readonly InstanceAnswer[]
  /** Those that were not heard of lately. */
  readonly unheard: readonly InstanceAnswer[]
  /** The incarnations that answered APPLIED. */
  readonly applied: readonly string[]
}

/** A command to submit. */
export interface Question {
  readonly target: ControlTarget
  readonly command: CommandEntry['command']
  readonly operator: OperatorIdentity
  readonly waitMs: number
  /** The only incarnation that answers. @defaultValue all that have the binding */
  readonly only?: string
  /** Whether it is written until it is in the log, also after its answer is given. @defaultValue false: it is tried once */
  readonly isKept?: boolean
}

/** How long a command waits until the log can be read. */
const unreachableMs = 5_000

/** See the file's comment. */
export class FleetSubmitter {
  readonly #deps: SubmitterDeps
  readonly #nextId: UlidGenerator
  /** Answers of this process to commands that it has submitted itself: they keep the error. */
  readonly #ownAnswers = new Map<string, InstanceAnswer | undefined>()

  constructor(deps: SubmitterDeps) {
    this.#deps = deps
    this.#nextId = createUlidGenerator(deps.settings.runtime)
  }

  /** Receives the answers of this process. */
  answered(id: string, answer: InstanceAnswer): void {
    if (this.#ownAnswers.has(id)) this.#ownAnswers.set(id, answer)
  }

  async ask(question: Question): Promise<Asked> {
    const id = this.#nextId()
    this.#ownAnswers.set(id, undefined)
    try {
      return await this.#ask(id, question)
    } finally {
      this.#ownAnswers.delete(id)
    }
  }

  /** Waits until the log can be read, and shows this instance. @throws ControlUnreachableError */
  async ready(): Promise<void> {
    const { follower, own, settings, signal } = this.#deps
    const isReady = (): boolean =>
      follower.reach.isKnown && follower.reach.trouble === undefined && own()?.isPresent(follower.state) !== false
    const until = settings.runtime.clock.monotonic() + unreachableMs
    while (!isReady()) {
      const leftMs = until - settings.runtime.clock.monotonic()
      if (leftMs <= 0)
        throw new ControlUnreachableError(follower.reach.trouble ?? 'this instance is not in the log yet')
      await follower.changes.next(leftMs, signal)
    }
  }

  async #ask(id: string, { target, command, operator, waitMs, only, isKept = false }: Question): Promise<Asked> {
    const { follower, writer } = this.#deps
    await this.ready()
    const concerned = membersWith(follower.state, target).filter(
      ({ status }) => only === undefined || status.incarnation === only,
    )
    const alive = concerned.filter((one) => this.#isAlive(one))
    const awaited = alive.map(({ status }) => status.incarnation)
    const entry: CommandEntry = { id, target, command, operator, awaited, waitMs }
    let failure: unknown
    const write = { key: commandKey(id), value: valueOf(entry) }
    if (isKept) writer.put(write)
    else void writer.add(write).catch((error: unknown) => (failure = error))
    await this.#collect(entry)
    const written = follower.state.commands.get(id)
    if (written === undefined) throw new CommandUnknownError(command.type, target.binding, failure)
    if (isStateCommand(entry)) this.#keepDesired(target, written.position)
    return {
      id,
      answers: this.#ownFirst(alive).map((one) => this.#answerOf(id, one, written.answers, target)),
      unheard: concerned.filter((one) => !alive.includes(one)).map((one) => this.#unheard(one, target)),
      applied: awaited.filter((one) => written.answers.get(one)?.outcome === 'APPLIED'),
    }
  }

  /** Waits for the answers, at most as long as the command says. */
  async #collect({ id, waitMs }: CommandEntry): Promise<void> {
    const { follower, settings, signal } = this.#deps
    const { clock } = settings.runtime
    const until = clock.monotonic() + waitMs
    for (;;) {
      const now = clock.monotonic()
      const command = follower.state.commands.get(id)
      const at = { now, readAt: follower.readAt, aliveMs: settings.aliveMs }
      if (now >= until || (command !== undefined && isOver(follower.state, command, at))) return
      await follower.changes.next(until - now, signal)
    }
  }

  /** Writes the state after a command, so that its entry may be dropped. While answers may come, the caretaker does it later. */
  #keepDesired(target: ControlTarget, upTo: bigint): void {
    const { follower, writer, own, isOver: hasEnded } = this.#deps
    if (follower.state.desired(target, hasEnded, upTo).open !== undefined) return
    const entry = follower.state.snapshotFor(target, upTo, own()?.incarnation ?? '')
    if (entry !== undefined) writer.put({ key: desiredKey(target), value: valueOf(entry) })
  }

  #answerOf(
    id: string,
    member: FleetMember,
    answers: ReadonlyMap<string, AnswerEntry>,
    target: ControlTarget,
  ): InstanceAnswer {
    const { incarnation } = member.status
    const found = answers.get(incarnation)
    if (found === undefined) return this.#unheard(member, target)
    const own = incarnation === this.#deps.own()?.incarnation ? this.#ownAnswers.get(id) : undefined
    return own ?? answerFrom(found)
  }

  #unheard(member: FleetMember, target: ControlTarget): InstanceAnswer {
    const { clock } = this.#deps.settings.runtime
    return noAnswer(member, target, clock.now(), clock.monotonic())
  }

  #ownFirst(members: readonly FleetMember[]): readonly FleetMember[] {
    const incarnation = this.#deps.own()?.incarnation
    return members.toSorted(
      (one, other) => Number(other.status.incarnation === incarnation) - Number(one.status.incarnation === incarnation),
    )
  }

  #isAlive(member: FleetMember): boolean {
    const { follower, settings } = this.#deps
    return isAlive(member, follower.readAt, settings.aliveMs)
  }
}

/** Returns the answer of another process. */
function answerFrom({ instance, outcome, state, error, positions }: AnswerEntry): InstanceAnswer {
  return {
    instance,
    outcome,
    state,
    ...(error === undefined ? {} : { error: new InstanceFailedError(instance, error) }),
    ...(positions === undefined ? {} : { positions }),
  }
}
