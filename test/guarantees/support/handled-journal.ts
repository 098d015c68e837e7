import { readJournal } from './journal-file.ts'
import { disorder } from './key-order.ts'

/** What a handler did with a record: began, and then how that ended. */
export type Step = 'START' | 'OK' | 'FAIL' | 'DEAD'

/** One line of a journal. */
export interface JournalLine {
  /** Of the process. */
  readonly pid: number
  readonly step: Step
  /** The record's value: every one is written once in a test. */
  readonly value: string
  readonly key: string
  /** Where the record lay when it was delivered. */
  readonly topic: string
  readonly partition: number
  readonly offset: string
  /** Where it lay first. */
  readonly original: { readonly partition: number; readonly offset: string }
}

/** Deliveries of one partition that were made again. */
export interface Repeats {
  readonly topic: string
  readonly partition: number
  readonly offsets: readonly bigint[]
}

/** What handlers did, in the order in which it happened. */
export class HandledJournal {
  readonly lines: readonly JournalLine[]

  constructor(path: string) {
    this.lines = readJournal(path) as readonly JournalLine[]
  }

  /** Values whose handler came to that end, as often as it did. */
  values(step: Step): string[] {
    return this.lines.filter((line) => line.step === step).map(({ value }) => value)
  }

  /** Values that were handled more than once, each once. */
  get repeated(): string[] {
    const seen = new Set<string>()
    return [...new Set(this.values('OK').filter((value) => seen.size === seen.add(value).size))]
  }

  /** Records that one process ended and another began, by the partition they were delivered from. */
  repeatedDeliveries(first: number, second: number): Repeats[] {
    const ended = new Set(this.lines.filter(({ pid, step }) => pid === first && step !== 'START').map(placeOf))
    const again = this.lines.filter((line) => line.pid === second && line.step === 'START' && ended.has(placeOf(line)))
    return [...Map.groupBy(again, ({ topic, partition }) => `${topic}-${partition}`).values()].map((lines) => {
      const { topic, partition } = lines[0] as JournalLine
      return { topic, partition, offsets: lines.map(({ offset }) => BigInt(offset)) }
    })
  }

  /** Deliveries that one process made twice. */
  repeatedWithin(pid: number): string[] {
    const seen = new Set<string>()
    const starts = this.lines.filter((line) => line.step === 'START' && line.pid === pid).map(placeOf)
    return starts.filter((start) => seen.size === seen.add(start).size)
  }

  /** Where the order of keys was not kept, but for what killed processes had begun. */
  disorder(written: readonly { readonly key: string; readonly value: string }[], killed: readonly number[]): string[] {
    return disorder(this.lines, written, killed)
  }
}

function placeOf({ topic, partition, offset }: JournalLine): string {
  return `${topic}-${partition}@${offset}`
}
