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
  readonly outcome: string
  readonly state?: string
}

/** See the file's comment. */
export class ControlLog {
  readonly commands: LoggedCommand[] = []
  readonly #answers: LoggedAnswer[] = []
  readonly #log: TopicLog
  deletedCommands = 0

  constructor(cluster: SimCluster) {
    this.#log = new TopicLog(cluster, logTopic, 0)
  }

  /** Reads what was appended since. Called at every change, so that it sees a record before it is compacted. */
  readOn(): void {
    const before = this.#log.records.length
    this.#log.readOn()
    for (const { key, value, offset } of this.#log.records.slice(before)) {
      const name = String(key)
      if (value === null) {
        if (name.startsWith('command/')) this.deletedCommands += 1
        continue
      }
      const raw = JSON.parse(String(value)) as Raw
      if (name.startsWith('command/')) this.#addCommand(raw, offset)
      else if (name.startsWith('answer/')) this.#addAnswer(raw, offset)
    }
  }

  get end(): bigint {
    return this.#log.end
  }

  /**
   * Returns the states that may be desired, for any moment from one offset to the end. A command that somebody followed
   * counts. One that all refused does not. Of the others both are possible.
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

  #after(now: Set<string | undefined>, { id, type, awaited }: LoggedCommand): Set<string | undefined> {
    const wish = wishes[type]
    const answers = this.#answers.filter(({ command }) => command === id)
    const silent = awaited.filter((one) => !answers.some(({ incarnation }) => incarnation === one))
    if (answers.some(({ isReached }) => isReached)) {
      // Reached by an answer that came after those who asked had decided that it was refused: then it may not count.
      const isLate = answers.some((one) => !one.isReached)
      return isLate ? new Set([...now, wish]) : new Set([wish])
    }
    if (awaited.length > 0 && silent.length === 0) return now
    return new Set([...now, wish])
  }

  #addCommand(raw: Raw, offset: bigint): void {
    const { id, target, operator, awaited } = raw
    if (this.commands.some((one) => one.id === id)) return
    const { type } = raw.command as { readonly type: string }
    this.commands.push({ id, offset, binding: target.binding, type, reason: operator.reason ?? '', awaited })
  }

  #addAnswer(raw: Raw, offset: bigint): void {
    const command = this.commands.find(({ id }) => id === String(raw.command))
    if (command === undefined) return
    const isReached = raw.outcome === 'APPLIED' || raw.state === wishes[command.type]
    this.#answers.push({ offset, command: command.id, incarnation: raw.incarnation, isReached })
  }
}
