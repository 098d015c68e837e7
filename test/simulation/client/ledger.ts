/** Tracks which records are settled, over all members of the group. */

import type { LogEntry, LogJournal } from './log-journal.ts'

/** Tells whether a record is settled. A settled record stays settled. */
export interface Ledger {
  isSettled(topic: string, partition: number, entry: LogEntry): boolean
}

/** Settled by handlers: offsets of each partition. */
export class HandlerLedger implements Ledger {
  readonly #settled = new Map<string, Set<bigint>>()
  /** How often handlers succeeded with a record. */
  readonly #handled = new Map<string, number>()

  isSettled(topic: string, partition: number, { offset }: LogEntry): boolean {
    return this.#settled.get(`${topic}-${partition}`)?.has(offset) ?? false
  }

  settle(topic: string, partition: number, offset: bigint): void {
    const name = `${topic}-${partition}`
    let offsets = this.#settled.get(name)
    if (offsets === undefined) this.#settled.set(name, (offsets = new Set()))
    offsets.add(offset)
    const record = `${name}@${offset}`
    this.#handled.set(record, (this.#handled.get(record) ?? 0) + 1)
  }

  /** Records that were handled more than once. */
  repeated(): string[] {
    return [...this.#handled].filter(([, times]) => times > 1).map(([record]) => record)
  }
}

/** Settled by a committed output. */
export class OutputLedger implements Ledger {
  readonly #outputs: () => readonly LogJournal[]
  /** For each journal: entries before this one were processed. */
  readonly #seen = new Map<LogJournal, number>()
  #undecided: LogEntry[] = []
  readonly #committed = new Map<string, number>()

  constructor(outputs: () => readonly LogJournal[]) {
    this.#outputs = outputs
  }

  isSettled(_topic: string, _partition: number, { id }: LogEntry): boolean {
    if (this.#committed.has(id)) return true
    this.#count()
    return this.#committed.has(id)
  }

  /** How many committed outputs each input has. */
  counts(): ReadonlyMap<string, number> {
    this.#count()
    return this.#committed
  }

  #count(): void {
    for (const journal of this.#outputs()) {
      const entries = journal.entries()
      this.#undecided.push(...entries.slice(this.#seen.get(journal) ?? 0))
      this.#seen.set(journal, entries.length)
    }
    this.#undecided = this.#undecided.filter(({ id, state }) => {
      if (state === 'COMMITTED') this.#committed.set(inputOf(id), (this.#committed.get(inputOf(id)) ?? 0) + 1)
      return state === 'OPEN'
    })
  }
}

/** Returns the value a transforming member writes for a record. Attempts differ so that the log shows each. */
export function outputOf(input: string, attempt: string): string {
  return `${input}>${attempt}`
}

/** The record that an output was made from. */
function inputOf(output: string): string {
  return output.slice(0, output.indexOf('>'))
}
