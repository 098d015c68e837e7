/**
 * The instance of this process in a fleet.
 *
 *     JOINED ──first own status is in the log──▶ PRESENT ──dispose──▶ LEFT
 *                   PRESENT: commands behind that status are applied, in the order of the log
 *
 * | failure | consequence |
 * |---|---|
 * | a command was missed: it came before the first status, or its entry was dropped while the log could not be read | the desired state differs from the one established here, and is obeyed |
 * | a command was applied here and refused by those who were asked | the same |
 * | a state cannot be established | it is tried again, with a growing pause, until another command |
 * | the process that moves positions is gone | the instance returns by itself |
 */

import { describeThrown, type Runtime, StateError } from '@waybill/core'
import type {
  BindingStatus,
  ControlledInstance,
  ControlTarget,
  DesiredState,
  InstanceAnswer,
  InstanceHealth,
} from '../api/control.ts'
import { type DesiredBinding, desiredAfter, isDesire, isReached, targetKey } from '../operations/desired-state.ts'
import { answerEntry, answerKey, type CommandEntry, statusKey, valueOf } from './fleet-entry.ts'
import type { FleetCommand, FleetState, IsOver } from './fleet-state.ts'
import type { LogWriter } from './log-writer.ts'

/** The dependencies of an instance. */
export interface OwnInstanceDeps {
  readonly instance: ControlledInstance
  readonly incarnation: string
  readonly version: string | undefined
  readonly writer: LogWriter
  readonly runtime: Runtime
  /** Called with each answer of this instance. */
  readonly answered: (command: string, answer: InstanceAnswer) => void
}

/** Commands that are applied at one time. More are refused: the operator sends faster than the instance can follow. */
const mostAtOnce = 1_000

/** Ends of absences that are remembered. */
const mostCalledBack = 1_000

const firstRetryMs = 1_000
const longestRetryMs = 60_000

/** A status that is larger is written without figures. */
const figuresBelowBytes = 128 * 1024

const knownCommands = new Set<string>([
  'START',
  'STOP',
  'PAUSE',
  'RESUME',
  'DESTROY',
  'UNREGISTER',
  'PAUSE_TIER',
  'RESUME_TIER',
  'SEND_TO_DLT',
  'AWAY',
  'MOVE',
  'BACK',
])

/** The state of a binding that this instance has established. DEFAULT: it was started while nothing was desired. */
interface Belief {
  readonly target: ControlTarget
  state: DesiredState | 'DEFAULT'
  tiers: readonly number[]
  retryAt: number
  retryMs: number
}

/** A binding that has left its groups for another process. */
interface Absence {
  readonly id: string
  readonly target: ControlTarget
  /** The incarnation that moves the positions. */
  readonly by: string | undefined
  readonly lease: Disposable
  /** Resolves when it has left, or could not: a return before that would be too early. */
  leaving: Promise<InstanceAnswer> | undefined
}

/** See the file's comment. */
export class OwnInstance {
  readonly instance: ControlledInstance
  readonly incarnation: string
  readonly #deps: OwnInstanceDeps
  readonly #beliefs = new Map<string, Belief>()
  /** Commands under way, by target. */
  readonly #underWay = new Map<string, number>()
  readonly #aways = new Map<string, Absence>()
  /** Absences that ended before they began: an append that was reported as failed may come into the log after its end. */
  readonly #calledBack = new Set<string>()
  #lastStatus = ''
  #announcedAt = Number.NEGATIVE_INFINITY
  #hasLeft = false

  constructor(deps: OwnInstanceDeps) {
    this.#deps = deps
    this.instance = deps.instance
    this.incarnation = deps.incarnation
  }

  /** Returns whether this instance is in the log, so that others know that it answers. */
  isPresent(state: FleetState): boolean {
    return state.members.has(statusKey(this.incarnation))
  }

  /** Writes the states of the bindings when they have changed, and from time to time. */
  announce(everyMs: number): void {
    if (this.#hasLeft) return
    const bindings = this.instance.statuses()
    const health = this.instance.health?.()
    const states = JSON.stringify([
      health?.status,
      bindings.map(({ target, state, pausedBy }) => [target, state, pausedBy]),
    ])
    const now = this.#deps.runtime.clock.monotonic()
    if (states === this.#lastStatus && now - this.#announcedAt < everyMs) return
    this.#lastStatus = states
    this.#announcedAt = now
    this.#deps.writer.put({ key: statusKey(this.incarnation), value: this.#statusValue(bindings, health) })
  }

  /** Writes that this instance is gone. */
  leave(): void {
    this.#hasLeft = true
    for (const { lease } of this.#aways.values()) lease[Symbol.dispose]()
    this.#aways.clear()
    this.#deps.writer.put({ key: statusKey(this.incarnation), value: null })
  }

  /** Applies a command that has come into the log. */
  saw({ entry }: FleetCommand): void {
    const key = targetKey(entry.target)
    if (this.#hasLeft || !(entry.awaited.includes(this.incarnation) || this.#has(key))) return
    if (entry.command.type === 'MOVE' && entry.command.by !== this.incarnation) return
    this.#count(key, 1)
    void this.#run(entry, key)
  }

  /** Remembers the state with which a binding starts here. What was established since stays: asking does not change it. */
  believeAtStart(target: ControlTarget, desired: DesiredBinding): void {
    if (!this.#beliefs.has(targetKey(target))) this.#believe(target, desired)
  }

  #believe(target: ControlTarget, { state, tiers }: DesiredBinding): void {
    this.#beliefs.set(targetKey(target), {
      target,
      state: state ?? 'DEFAULT',
      tiers,
      retryAt: 0,
      retryMs: firstRetryMs,
    })
  }

  /** Returns to the groups of bindings whose positions nothing moves any more. */
  endAbsences(mayAct: (incarnation: string) => boolean): void {
    for (const [key, { id, target, by }] of this.#aways)
      if (by !== undefined && !mayAct(by)) this.#returnAlone(id, target, key)
  }

  /** Establishes the desired states that commands did not bring. */
  obey(state: FleetState, isOver: IsOver): void {
    if (this.#hasLeft || !this.isPresent(state)) return
    const now = this.#deps.runtime.clock.monotonic()
    for (const [key, belief] of this.#beliefs) {
      if (this.#underWay.has(key) || belief.retryAt > now || !this.#has(key)) continue
      const desired = state.desired(belief.target, isOver)
      if (desired.open !== undefined) continue
      const wish = desired.state ?? belief.state
      if (wish === belief.state && isSame(desired.tiers, belief.tiers)) continue
      this.#count(key, 1)
      void this.#obey(key, belief, { state: wish, tiers: desired.tiers })
    }
  }

  /** Never rejects. */
  async #run(entry: CommandEntry, key: string): Promise<void> {
    const { writer, answered } = this.#deps
    const answer = await this.#apply(entry, key)
    this.#count(key, -1)
    if (entry.command.type !== 'AWAY' && entry.command.type !== 'BACK' && entry.command.type !== 'MOVE') {
      if (isDesire(entry.command) && isReached(entry.command, answer)) {
        const { state = 'DEFAULT', tiers = [] } = this.#beliefs.get(key) ?? {}
        const after = desiredAfter({ state: state === 'DEFAULT' ? undefined : state, tiers }, entry.command)
        if (after.state === null) this.#beliefs.delete(key)
        else this.#believe(entry.target, after)
      }
    }
    writer.put({
      key: answerKey(entry.id, this.incarnation),
      value: valueOf(answerEntry(entry.id, this.incarnation, answer)),
    })
    answered(entry.id, answer)
  }

  async #apply({ id, target, command, operator }: CommandEntry, key: string): Promise<InstanceAnswer> {
    const { instance } = this
    try {
      if (!knownCommands.has(command.type))
        return this.#failed(target, new StateError(`This version does not know the command ${command.type}.`))
      if ((this.#underWay.get(key) ?? 0) > mostAtOnce)
        return this.#failed(
          target,
          new StateError('Too many commands are under way.', { impact: 'Nothing was changed.' }),
        )
      if (command.type === 'AWAY') return await this.#goAway(id, target, key, command)
      if (command.type === 'BACK') return await this.#comeBack(command.away, target, key)
      if (command.type === 'MOVE') return await instance.apply({ target, command: command.command, operator })
      return await instance.apply({ target, command, operator })
    } catch (error) {
      // An instance never rejects; one that does must not end the fleet's control.
      return this.#failed(target, error instanceof Error ? error : new StateError(describeThrown(error)))
    }
  }

  async #goAway(
    id: string,
    target: ControlTarget,
    key: string,
    { forMs, by }: { readonly forMs: number; readonly by?: string },
  ): Promise<InstanceAnswer> {
    if (this.#calledBack.has(id)) return this.#failed(target, new StateError('This instance was called back already.'))
    if (this.#aways.has(key))
      return this.#failed(target, new StateError('Positions of this binding are being moved by another command.'))
    const lease = this.#deps.runtime.timers.schedule(forMs, () => this.#returnAlone(id, target, key))
    const absence: Absence = { id, target, by, lease, leaving: undefined }
    this.#aways.set(key, absence)
    absence.leaving = this.instance.away(target)
    const answer = await absence.leaving
    if (answer.outcome !== 'APPLIED') this.#release(id, key)
    return answer
  }

  #returnAlone(id: string, target: ControlTarget, key: string): void {
    this.#deps.runtime.logger.warn({ binding: target.binding }, 'Returned to the groups without being asked')
    void this.#comeBack(id, target, key)
  }

  async #comeBack(id: string, target: ControlTarget, key: string): Promise<InstanceAnswer> {
    const absence = this.#release(id, key)
    if (absence === undefined) {
      this.#calledBack.add(id)
      const [oldest] = this.#calledBack.size > mostCalledBack ? this.#calledBack : []
      if (oldest !== undefined) this.#calledBack.delete(oldest)
      return { instance: this.instance.name, outcome: 'APPLIED', state: this.#stateOf(target) }
    }
    await absence.leaving
    return this.instance.back(target)
  }

  #release(id: string, key: string): Absence | undefined {
    const absence = this.#aways.get(key)
    if (absence?.id !== id) return undefined
    absence.lease[Symbol.dispose]()
    this.#aways.delete(key)
    return absence
  }

  async #obey(key: string, belief: Belief, { state, tiers }: Pick<Belief, 'state' | 'tiers'>): Promise<void> {
    const { logger, clock } = this.#deps.runtime
    const { binding } = belief.target
    try {
      if (state !== belief.state && state !== 'DEFAULT') await this.instance.obey(belief.target, state)
      belief.state = state
      if (!isSame(tiers, belief.tiers)) await this.instance.obeyTiers(belief.target, tiers)
      belief.tiers = tiers
      logger.info({ binding, state, pausedTiers: tiers }, 'Desired state established')
      belief.retryMs = firstRetryMs
    } catch (error) {
      logger.warn({ binding, state, err: error, retryMs: belief.retryMs }, 'Desired state not established, retrying')
      belief.retryAt = clock.monotonic() + belief.retryMs
      belief.retryMs = Math.min(longestRetryMs, belief.retryMs * 2)
    } finally {
      this.#count(key, -1)
    }
  }

  #count(key: string, by: 1 | -1): void {
    const count = (this.#underWay.get(key) ?? 0) + by
    if (count === 0) this.#underWay.delete(key)
    else this.#underWay.set(key, count)
  }

  #failed(target: ControlTarget, error: Error): InstanceAnswer {
    return { instance: this.instance.name, outcome: 'FAILED', state: this.#stateOf(target), error }
  }

  #has(key: string): boolean {
    return this.instance.statuses().some(({ target }) => targetKey(target) === key)
  }

  #stateOf(target: ControlTarget): InstanceAnswer['state'] {
    const key = targetKey(target)
    return this.instance.statuses().find((one) => targetKey(one.target) === key)?.state
  }

  #statusValue(bindings: readonly BindingStatus[], health: InstanceHealth | undefined): unknown {
    const { version } = this.#deps
    const status = {
      instance: this.instance.name,
      incarnation: this.incarnation,
      ...(version === undefined ? {} : { version }),
      ...(health === undefined ? {} : { health }),
    }
    const value = valueOf({ ...status, bindings })
    if (JSON.stringify(value).length <= figuresBelowBytes) return value
    return valueOf({
      ...status,
      bindings: bindings.map(({ target, state, pausedBy }) => ({ target, state, pausedBy })),
    })
  }
}

function isSame(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((tier, at) => tier === others[at])
}
