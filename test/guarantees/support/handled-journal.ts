import { readJournal } from './journal-file.ts'
import { disorder } from './key-order.ts'

/** One step of a handler: its start, or its outcome. */
export type Step = 'START' | 'OK' | 'FAIL' | 'DEAD'

/** One line of a journal. */
export interface JournalLine {
  /** Process id. */
  readonly pid: number
  readonly step: Step
  /** The record's value: each is written once in a test. */
  readonly value: string
  readonly key: string
  /** The topic it was delivered from. */
  readonly topic: string
  readonly partition: number
  readonly offset: string
  /** Its original place. */
  readonly original: { readonly partition: number; readonly offset: string }
}

/** Repeated deliveries of one partition. */
export interface Repeats {
  readonly topic: string
  readonly partition: number
  readonly offsets: readonly bigint[]
}

/** The steps of handlers, in the order in which they happened. */
export class HandledJournal {
  readonly lines: readonly JournalLine[]

  constructor(path: string) {
    this.lines = readJournal(path) as readonly JournalLine[]
  }

  /** Returns the values whose handler had that outcome, as often as it did. */
  values(step: Step): string[] {
    return this.lines.filter((line) => line.step === step).map(({ value }) => value)
  }

  /** Values that were handled more than once, each once. */
  get repeated(): string[] {
    const seen = new Set<string>()
    return [...new Set(this.values('OK').filter((value) => seen.size === seen.add(value).size))]
  }

  /** Returns the values whose delivery from a topic failed in a process. */
  failuresOf(process: number, topic: string): string[] {
    return this.lines
      .filter((line) => line.pid === process && line.topic === topic && line.step === 'FAIL')
      .map(({ value }) => value)
  }

  /** Returns how the last delivery of each value from a topic ended. */
  lastSteps(topic: string): Map<string, Step> {
    const ended = this.lines.filter((line) => line.topic === topic && line.step !== 'START')
    return new Map(ended.map(({ value, step }) => [value, step]))
  }

  /** Returns records that one process completed and another started, by the partition they were delivered from. */
  repeatedDeliveries(first: number, second: number): Repeats[] {
    const ended = new Set(this.lines.filter(({ pid, step }) => pid === first && step !== 'START').map(placeOf))
    const again = this.lines.filter((line) => line.pid === second && line.step === 'START' && ended.has(placeOf(line)))
    return [...Map.groupBy(again, ({ topic, partition }) => `${topic}-${partition}`).values()].map((lines) => {
      const { topic, partition } = lines[0] as JournalLine
      return { topic, partition, offsets: lines.map(({ offset }) => BigInt(offset)) }
    })
  }

  /** Returns deliveries that one process made twice. */
  repeatedWithin(pid: number): string[] {
    const seen = new Set<string>()
    const starts = this.lines.filter((line) => line.step === 'START' && line.pid === pid).map(placeOf)
    return starts.filter((start) => seen.size === seen.add(start).size)
  }

  /** Returns violations of the key order, except those that killed processes had begun. */
  disorder(written: readonly { readonly key: string; readonly value: string }[], killed: readonly number[]): string[] {
    return disorder(this.lines, written, killed)
  }
}

function placeOf({ topic, partition, offset }: JournalLine): string {
  return `${topic}-${partition}@${offset}`
}
