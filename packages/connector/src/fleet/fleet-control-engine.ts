/**
 * The control of a fleet, in one of its processes.
 *
 *     log ─▶ FleetFollower ─▶ FleetState ─┬▶ OwnInstance: applies commands, obeys
 *                                         ├▶ FleetSubmitter: answers of others
 *                                         └▶ Caretaker: drops what is old
 *     LogWriter ◀─ commands, answers, statuses, desired states
 *
 * No clock of another process is compared with one of this: ages are measured from the moment an entry was read.
 */

import { createUlidGenerator, StateError } from '@waybill/core'
import type { SharedLogEntry } from '@waybill/core/internal'
import type {
  Control,
  ControlAnswer,
  ControlCommand,
  ControlledInstance,
  ControlReach,
  ControlRequest,
  ControlTarget,
  DesiredState,
  FleetInstance,
  InstanceStatus,
} from '../api/control.ts'
import type { PositionCommand } from '../api/position-command.ts'
import { statusesIn } from '../operations/statuses-in.ts'
import { takeCare } from './caretaker.ts'
import { type FleetEntry, statusKey } from './fleet-entry.ts'
import { FleetFollower } from './fleet-follower.ts'
import { currentMembers, instanceOf, isAlive, isOver, presentIn } from './fleet-members.ts'
import type { FleetSettings } from './fleet-options.ts'
import { movePositions } from './fleet-positions.ts'
import type { IsOver } from './fleet-state.ts'
import { FleetSubmitter } from './fleet-submitter.ts'
import { LogWriter } from './log-writer.ts'
import { OwnInstance } from './own-instance.ts'

/** How often states are compared with those that were announced. */
const tickMs = 500

/** How often old entries are looked for. */
const careMs = 2_000

/** How long a stop waits for its last entries. */
const flushMs = 5_000

/** See the file's comment. */
export class FleetControlEngine implements Control, AsyncDisposable {
  readonly scope = 'FLEET'
  readonly #settings: FleetSettings
  readonly #stopping = new AbortController()
  readonly #reading = new AbortController()
  readonly #follower: FleetFollower
  readonly #writer: LogWriter
  readonly #submitter: FleetSubmitter
  #own: OwnInstance | undefined
  /** Instances of this process that have left. */
  readonly #left = new Set<string>()
  #hasAged = false
  #caredAt = 0
  #ticking: Promise<void> | undefined
  #stopped: Promise<void> | undefined

  constructor(settings: FleetSettings) {
    this.#settings = settings
    const { log, pollMs, runtime } = settings
    this.#writer = new LogWriter(log, runtime, this.#reading.signal)
    this.#follower = new FleetFollower({
      log,
      pollMs,
      runtime,
      signal: this.#reading.signal,
      saw: (entry, from) => this.#saw(entry, from),
      hasRead: () => this.#hasRead(),
      reset: () => (this.#hasAged = false),
    })
    this.#submitter = new FleetSubmitter({
      settings,
      follower: this.#follower,
      writer: this.#writer,
      own: () => this.#own,
      isOver: this.#isOver,
      signal: this.#stopping.signal,
    })
  }

  join(instance: ControlledInstance): Disposable {
    if (this.#own !== undefined)
      throw new StateError(`Cannot join: instance ${this.#own.instance.name} has already joined this control.`)
    const { runtime, version } = this.#settings
    const own = new OwnInstance({
      instance,
      incarnation: createUlidGenerator(runtime)(),
      version,
      writer: this.#writer,
      runtime,
      answered: (id, answer) => {
        this.#submitter.answered(id, answer)
        this.#announce()
      },
    })
    this.#own = own
    if (this.#ticking !== undefined) this.#announce()
    return {
      [Symbol.dispose]: () => {
        if (this.#own !== own) return
        this.#own = undefined
        this.#left.add(own.incarnation)
        // One that never began is not in the log.
        if (this.#ticking !== undefined) own.leave()
      },
    }
  }

  begin(): void {
    if (this.#stopping.signal.aborted) throw new StateError('The control was stopped. Create another one.')
    this.#announce()
    this.#follower.start()
    this.#ticking ??= this.#tick()
  }

  async submit(request: ControlRequest): Promise<ControlAnswer> {
    this.begin()
    const { awayMs, answerMs } = this.#settings
    const { target, command, operator } = request
    if (isPositionCommand(command))
      return movePositions(
        this.#submitter,
        { target, operator, command },
        { awayMs, answerMs, own: this.#own?.incarnation },
      )
    const asked = await this.#submitter.ask({ target, command, operator, waitMs: stopMsOf(command) + answerMs })
    return { scope: 'FLEET', instances: [...asked.answers, ...asked.unheard] }
  }

  async desired(target: ControlTarget): Promise<DesiredState | undefined> {
    this.begin()
    const { runtime } = this.#settings
    for (;;) {
      const { state, changes, reach } = this.#follower
      let waitMs = longestWaitMs
      if (reach.isKnown && this.#own?.isPresent(state) !== false) {
        const desired = state.desired(target, this.#isOver)
        const { open } = desired
        // Answers of others may show that the last command was refused by all, and did not count.
        const isUndecided = open !== undefined && !open.entry.awaited.includes(this.#own?.incarnation ?? '')
        waitMs = isUndecided ? open.seenAt + open.entry.waitMs - runtime.clock.monotonic() : 0
        if (waitMs <= 0) {
          this.#own?.believeAtStart(target, desired)
          return desired.state ?? undefined
        }
      }
      await changes.next(waitMs, this.#stopping.signal)
    }
  }

  pausedTiers(target: ControlTarget): readonly number[] {
    return this.#follower.state.desired(target, this.#isOver).tiers
  }

  async statuses(): Promise<readonly InstanceStatus[]> {
    return (await this.instances()).flatMap(statusesIn)
  }

  async instances(): Promise<readonly FleetInstance[]> {
    const { clock } = this.#settings.runtime
    const [nowMs, now] = [clock.now(), clock.monotonic()]
    const own = this.#own
    const others = currentMembers(this.#follower.state)
      .filter(({ status }) => status.incarnation !== own?.incarnation && !this.#left.has(status.incarnation))
      .map((one) => instanceOf(one, { nowMs, now, isAlive: this.#isAlive(one) }))
    if (own === undefined) return others
    const { incarnation, instance } = own
    const { version } = this.#settings
    const mine = { instance: instance.name, incarnation, version, seenAtMs: nowMs, isAlive: true }
    return [{ ...mine, bindings: instance.statuses(), health: instance.health?.() }, ...others]
  }

  reach(): ControlReach {
    return this.#follower.reach
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #stop(): Promise<void> {
    const own = this.#own
    this.#own = undefined
    if (this.#ticking !== undefined) own?.leave()
    this.#stopping.abort(new StateError('The control was stopped.'))
    const timer = this.#settings.runtime.timers.schedule(flushMs, () => this.#endReading())
    await this.#writer.flush()
    timer[Symbol.dispose]()
    this.#endReading()
    await Promise.all([this.#follower.ended(), this.#ticking])
  }

  #endReading(): void {
    this.#reading.abort(new StateError('The control was stopped.'))
  }

  #saw(entry: FleetEntry, from: SharedLogEntry): void {
    const own = this.#own
    const { state } = this.#follower
    if (own === undefined) return
    if (!this.#hasAged && from.key === statusKey(own.incarnation)) this.#age()
    if (entry.kind !== 'COMMAND' || !own.isPresent(state)) return
    const command = state.commands.get(entry.value.id)
    // An entry that was written twice is applied once.
    if (command !== undefined && command.position === BigInt(from.position)) own.saw(command)
  }

  #hasRead(): void {
    if (!this.#hasAged && this.#own === undefined && this.#follower.reach.isKnown) this.#age()
    this.#own?.obey(this.#follower.state, this.#isOver)
  }

  /** Everything before this was read together with the history of the log. */
  #age(): void {
    this.#hasAged = true
    this.#follower.state.ageMembers(this.#settings.runtime.clock.monotonic())
  }

  #announce(): void {
    this.#own?.announce(this.#settings.announceMs)
  }

  /** Never rejects. */
  async #tick(): Promise<void> {
    const { clock, logger } = this.#settings.runtime
    const signal = this.#stopping.signal
    while (!signal.aborted) {
      try {
        this.#announce()
        this.#own?.obey(this.#follower.state, this.#isOver)
        this.#endAbsences()
        if (clock.monotonic() - this.#caredAt >= careMs) this.#takeCare()
      } catch (err) {
        logger.error({ err }, 'Control check failed, retrying')
      }
      await this.#settings.runtime.timers.sleep(tickMs, signal).catch(() => {})
    }
  }

  #endAbsences(): void {
    const { state, readAt, reach } = this.#follower
    // A log that cannot be read says nothing of others.
    if (reach.trouble !== undefined) return
    const present = presentIn(state, readAt, this.#settings.aliveMs)
    this.#own?.endAbsences((incarnation) => present.has(incarnation))
  }

  #takeCare(): void {
    const own = this.#own
    const { keepMs } = this.#settings
    this.#caredAt = this.#settings.runtime.clock.monotonic()
    const { state, reach, readAt } = this.#follower
    if (own === undefined || !own.isPresent(state) || reach.trouble !== undefined || !reach.isKnown) return
    const alive = currentMembers(state).filter((one) => isAlive(one, readAt, this.#settings.aliveMs))
    // One is enough. Two that take each other for dead write the same.
    if (alive.some(({ status }) => status.incarnation < own.incarnation)) return
    for (const write of takeCare(state, { now: readAt, by: own.incarnation, keepMs, isOver: this.#isOver }))
      this.#writer.put(write)
  }

  /**
   * Whether the time of a command's answers was over when the log was last read: answers may be in the part that was not read
   * yet. An arrow function, because it is passed on.
   */
  readonly #isOver: IsOver = (command) => {
    const { state, readAt } = this.#follower
    return isOver(state, command, { now: readAt, readAt, aliveMs: this.#settings.aliveMs })
  }

  #isAlive(member: Parameters<typeof isAlive>[0]): boolean {
    return isAlive(member, this.#follower.readAt, this.#settings.aliveMs)
  }
}

/** How long a start waits before it looks again, if nothing changes. */
const longestWaitMs = 60_000

/** The time that a binding takes to stop, unless the command or the binding says otherwise. */
const defaultStopMs = 30_000

function stopMsOf(command: ControlCommand): number {
  return command.type === 'STOP' || command.type === 'DESTROY' ? (command.deadlineMs ?? defaultStopMs) : 0
}

function isPositionCommand(command: ControlCommand): command is PositionCommand {
  return command.type === 'SEEK' || command.type === 'SKIP' || command.type === 'RESET'
}
