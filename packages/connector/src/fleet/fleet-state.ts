/**
 * The state of a fleet, folded from its log. All readers of the same entries have the same state, so the order of the log
 * decides between two commands. Pure: time is passed in, and is that of this process.
 *
 *     desired state = the newest snapshot, then each state command behind it, unless those who answered refused it
 *
 * A command counts from the moment it is in the log, before the first answer: an instance that starts must not run
 * what was paused a moment ago.
 *
 * | in the log | consequence |
 * |---|---|
 * | a snapshot that is older than one already seen | the newer one stays, and is written again |
 * | answers of an instance that was not asked | they count as those of the others |
 * | some refused, and the rest is silent | it does not count once their time is over: an instance that applied it late is told so |
 * | no answer at all | it counts |
 */

import type { SharedLogEntry } from '@waybill/core/internal'
import type { ControlTarget } from '../api/control.ts'
import { type DesiredBinding, desiredAfter, isDesire, isReached, tiersOf } from '../operations/desired-state.ts'
import {
  type AnswerEntry,
  answerKey,
  type CommandEntry,
  type DesiredEntry,
  desiredKey,
  type FleetEntry,
  readEntry,
  type StatusEntry,
} from './fleet-entry.ts'

/** An instance, as its last status shows it. */
export interface FleetMember {
  readonly status: StatusEntry
  /** The position of its first status. It applies the commands behind it. */
  readonly joinedAt: bigint
  /** The position of its last status. */
  readonly position: bigint
  /** The monotonic time at which it was heard of. */
  readonly seenAt: number
  /** The time of its last status by the clock of the log. */
  readonly atMs: number
}

/** A command and its answers. */
export interface FleetCommand {
  readonly entry: CommandEntry
  readonly key: string
  readonly position: bigint
  /** The monotonic time at which it was read. */
  readonly seenAt: number
  /** By incarnation. */
  readonly answers: Map<string, AnswerEntry>
}

/** A desired state, and whether it may still change without another command. */
export interface FoldedState extends DesiredBinding {
  /** The first command whose answers may show that it was refused by all. */
  readonly open: FleetCommand | undefined
}

/** Returns whether the time of a command's answers is over. */
export type IsOver = (command: FleetCommand) => boolean

interface Snapshot {
  readonly entry: DesiredEntry
  readonly upTo: bigint
  /** False where an older one was written over it. */
  isNewestInLog: boolean
}

/** See the file's comment. */
export class FleetState {
  readonly members: Map<string, FleetMember> = new Map()
  readonly commands: Map<string, FleetCommand> = new Map()
  readonly #snapshots = new Map<string, Snapshot>()
  /** The newest time of the log. */
  #logMs = 0

  /** Adds an entry. @returns the entry as it was read */
  take(from: SharedLogEntry, nowMs: number): FleetEntry {
    const entry = readEntry(from)
    const position = BigInt(from.position)
    this.#logMs = Math.max(this.#logMs, from.atMs)
    switch (entry.kind) {
      case 'COMMAND':
        this.#addCommand(from.key, entry.value, position, nowMs)
        break
      case 'ANSWER':
        this.#addAnswer(entry.value)
        break
      case 'DESIRED':
        this.#addSnapshot(entry.value)
        break
      case 'STATUS':
        this.#addStatus(from.key, entry.value, position, nowMs, from.atMs)
        break
      case 'GONE':
        this.#remove(from.key)
        break
      case 'UNKNOWN':
        break
    }
    return entry
  }

  /**
   * Sets when members were heard of that were read together with the history of the log: by the time that the log has
   * passed since. Called once, after this process has read something that it knows to be recent.
   */
  ageMembers(nowMs: number): void {
    for (const [key, member] of this.members)
      this.members.set(key, { ...member, seenAt: nowMs - Math.max(0, this.#logMs - member.atMs) })
  }

  /**
   * Returns the desired state of a binding after all commands, or after those up to a position.
   * @param isOver - whether the time of a command's answers is over
   */
  desired(target: ControlTarget, isOver: IsOver, upTo?: bigint): FoldedState {
    const key = desiredKey(target)
    const snapshot = this.#snapshots.get(key)
    const from = snapshot?.upTo ?? -1n
    let desired: DesiredBinding = { state: snapshot?.entry.state, tiers: tiersOf(snapshot?.entry.tiers) }
    let open: FleetCommand | undefined
    for (const command of this.#stateCommands(key)) {
      if (command.position <= from || (upTo !== undefined && command.position > upTo)) continue
      const verdict = verdictOf(command, isOver(command))
      if (verdict === 'OPEN') open ??= command
      if (verdict !== 'REFUSED') desired = desiredAfter(desired, command.entry.command as never)
    }
    return { ...desired, open }
  }

  /** Returns the snapshot that has to be written so that the commands of a binding up to a position may be dropped. */
  snapshotFor(target: ControlTarget, upTo: bigint, by: string): DesiredEntry | undefined {
    const snapshot = this.#snapshots.get(desiredKey(target))
    if (snapshot !== undefined && snapshot.upTo >= upTo)
      return snapshot.isNewestInLog ? undefined : { ...snapshot.entry, by }
    const { state, tiers } = this.desired(target, () => true, upTo)
    return { target, state: state ?? null, ...(tiers.length === 0 ? {} : { tiers }), upTo: `${upTo}`, by }
  }

  /** Returns the snapshots that an older one replaced in the log. */
  replacedSnapshots(): readonly DesiredEntry[] {
    return [...this.#snapshots.values()].filter(({ isNewestInLog }) => !isNewestInLog).map(({ entry }) => entry)
  }

  /** Returns the keys of a command and its answers. */
  keysOf({ key, entry, answers }: FleetCommand): readonly string[] {
    return [...Array.from(answers.keys(), (incarnation) => answerKey(entry.id, incarnation)), key]
  }

  #stateCommands(key: string): readonly FleetCommand[] {
    return [...this.commands.values()].filter(({ entry }) => isStateCommand(entry) && desiredKey(entry.target) === key)
  }

  #addCommand(key: string, entry: CommandEntry, position: bigint, seenAt: number): void {
    if (this.commands.has(entry.id)) return // Written twice: the first one counts.
    this.commands.set(entry.id, { entry, key, position, seenAt, answers: new Map() })
  }

  #addAnswer(answer: AnswerEntry): void {
    const answers = this.commands.get(answer.command)?.answers
    // A repeated answer is the same, and its command may be dropped already.
    if (answers !== undefined && !answers.has(answer.incarnation)) answers.set(answer.incarnation, answer)
  }

  #addSnapshot(entry: DesiredEntry): void {
    const key = desiredKey(entry.target)
    const upTo = BigInt(entry.upTo)
    const known = this.#snapshots.get(key)
    if (known !== undefined && known.upTo > upTo) known.isNewestInLog = false
    else this.#snapshots.set(key, { entry, upTo, isNewestInLog: true })
  }

  #addStatus(key: string, status: StatusEntry, position: bigint, seenAt: number, atMs: number): void {
    const joinedAt = this.members.get(key)?.joinedAt ?? position
    this.members.set(key, { status, joinedAt, position, seenAt, atMs })
  }

  #remove(key: string): void {
    this.members.delete(key)
    if (key.startsWith('command/')) this.commands.delete(key.slice('command/'.length))
  }
}

/** Returns whether a command sets the desired state. */
export function isStateCommand({ command }: CommandEntry): boolean {
  return command.type === 'AWAY' || command.type === 'MOVE' || command.type === 'BACK' ? false : isDesire(command)
}

/** Returns whether a command counts. OPEN: it does, unless those who have not answered refuse it too. */
export function verdictOf({ entry, answers }: FleetCommand, isOver: boolean): 'COUNTS' | 'REFUSED' | 'OPEN' {
  for (const answer of answers.values()) if (isReached(entry.command as never, answer)) return 'COUNTS'
  const isComplete = entry.awaited.every((one) => answers.has(one))
  if (isOver || isComplete) return answers.size === 0 ? 'COUNTS' : 'REFUSED'
  return 'OPEN'
}
