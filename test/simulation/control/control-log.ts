/** The log as the simulation reads it: every record, also those that were compacted away, and not through the code under test. */

import type { SimCluster } from '@waybill/sim'
import { TopicLog } from '../connector/topic-log.ts'

/** The topic of the fleet. */
export const logTopic = 'waybill.control'

/** A command in the log. */
interface LoggedCommand {
  readonly id: string
  readonly offset: bigint
  readonly binding: string
  readonly type: string
  /** The number of the plan. */
  readonly reason: string
  readonly awaited: readonly string[]
  readonly waitMs: number
  /** The time at which it came into the log. */
  readonly atMs: number
  /** Whether a desired state was written while it had no answer, although its time was over. */
  isDecidedInSilence: boolean
}

/** An answer in the log. */
interface LoggedAnswer {
  readonly offset: bigint
  readonly command: string
  readonly incarnation: string
  readonly isReached: boolean
}

const wishes: Readonly<Record<string, string>> = {
  START: 'RUNNING',
  RESUME: 'RUNNING',
  PAUSE: 'PAUSED',
  STOP: 'STOPPED',
}

interface Raw {
  readonly id: string
  readonly target: { readonly binding: string }
  readonly command: unknown
  readonly operator: { readonly reason?: string }
  readonly awaited: readonly string[]
  readonly incarnation: string
  readonly instance: string
  readonly outcome: string
  readonly state?: string
  readonly waitMs: number
  readonly upTo: string
}

/** The time without a status after which an instance is not waited for. */
const aliveMs = 15_000

/** See the file's comment. */
export class ControlLog {
  readonly commands: LoggedCommand[] = []
  readonly #answers: LoggedAnswer[] = []
  readonly #log: TopicLog
  readonly #now: () => number
  /** When each incarnation was last heard of, and between which offsets. */
  readonly #heard = new Map<string, { name: string; atMs: number; first: bigint; last: bigint }>()
  deletedCommands = 0

  /** @param now - the time of the simulation: those of records are by clocks that differ */
  constructor(cluster: SimCluster, now: () => number) {
    this.#log = new TopicLog(cluster, logTopic, 0)
    this.#now = now
  }

  /** Reads what was appended since. Called at every change, so that it sees a record before it is compacted. */
  readOn(): void {
    const before = this.#log.records.length
    this.#log.readOn()
    for (const { key, value, offset } of this.#log.records.slice(before)) {
      const name = String(key)
      if (value === null) {
        if (name.startsWith('command/')) this.deletedCommands += 1
        // One that left is not waited for.
        if (name.startsWith('status/')) this.#heard.delete(name.slice('status/'.length))
        continue
      }
      const raw = JSON.parse(String(value)) as Raw
      if (name.startsWith('command/')) this.#addCommand(raw, offset)
      else if (name.startsWith('answer/')) this.#addAnswer(raw, offset)
      else if (name.startsWith('status/')) this.#addStatus(raw, offset)
      else if (name.startsWith('desired/')) this.#addDecision(raw)
    }
  }

  get end(): bigint {
    return this.#log.end
  }

  /**
   * Returns the states that may be desired, for any moment from one offset to the end. A command that an instance followed
   * counts. One that all refused does not, unless it was decided before the first of them answered. Of the others both are
   * possible.
   */
  possible(binding: string, since: bigint): ReadonlySet<string | undefined> {
    const all = new Set<string | undefined>()
    const own = this.commands.filter((one) => one.binding === binding && wishes[one.type] !== undefined)
    for (const until of [since, ...own.map(({ offset }) => offset + 1n), this.end].filter((one) => one >= since)) {
      let now = new Set<string | undefined>([undefined])
      for (const command of own) if (command.offset < until) now = this.#after(now, command)
      for (const one of now) all.add(one)
    }
    return all
  }

  #after(
    now: Set<string | undefined>,
    { id, type, awaited, isDecidedInSilence }: LoggedCommand,
  ): Set<string | undefined> {
    const wish = wishes[type]
    const answers = this.#answers.filter(({ command }) => command === id)
    const silent = awaited.filter((one) => !answers.some(({ incarnation }) => incarnation === one))
    if (answers.some(({ isReached }) => isReached)) {
      // Reached by an answer that came after those who asked had decided that it was refused: then it may not count.
      const isLate = answers.some((one) => !one.isReached)
      return isLate ? new Set([...now, wish]) : new Set([wish])
    }
    if (awaited.length > 0 && silent.length === 0 && !isDecidedInSilence) return now
    return new Set([...now, wish])
  }

  #addCommand(raw: Raw, offset: bigint): void {
    const { id, target, operator, awaited, waitMs } = raw
    if (this.commands.some((one) => one.id === id)) return
    const { type } = raw.command as { readonly type: string }
    const { binding } = target
    const reason = operator.reason ?? ''
    const atMs = this.#now()
    this.commands.push({ id, offset, binding, type, reason, awaited, waitMs, atMs, isDecidedInSilence: false })
  }

  /** Notes which commands a desired state decides about without any answer. Early decisions are those of a bug. */
  #addDecision({ target, upTo }: Raw): void {
    const now = this.#now()
    for (const one of this.commands) {
      if (one.binding !== target.binding || one.offset > BigInt(upTo)) continue
      if (this.#answers.some(({ command }) => command === one.id)) continue
      const isLate = now >= one.atMs + one.waitMs
      if (isLate || !one.awaited.some((who) => this.#isPresent(who, now))) one.isDecidedInSilence = true
    }
  }

  #addStatus({ incarnation, instance: name }: Raw, offset: bigint): void {
    const first = this.#heard.get(incarnation)?.first ?? offset
    this.#heard.set(incarnation, { name, atMs: this.#now(), first, last: offset })
  }

  /** Returns whether an instance was heard of lately, and no process of its name has replaced it. */
  #isPresent(incarnation: string, now: number): boolean {
    const known = this.#heard.get(incarnation)
    if (known === undefined || now - known.atMs >= aliveMs) return false
    return ![...this.#heard.values()].some(({ name, first }) => name === known.name && first > known.last)
  }

  #addAnswer(raw: Raw, offset: bigint): void {
    const command = this.commands.find(({ id }) => id === String(raw.command))
    if (command === undefined) return
    const isReached = raw.outcome === 'APPLIED' || raw.state === wishes[command.type]
    this.#answers.push({ offset, command: command.id, incarnation: raw.incarnation, isReached })
  }
}
