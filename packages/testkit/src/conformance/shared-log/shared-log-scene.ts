import type { Runtime } from '@waybill/core'
import type { SharedLog, SharedLogEntry } from '@waybill/core/internal'
import type { Suite } from '../suite/suite.ts'
import type { SharedLogUnderTest } from './shared-log-harness.ts'

/** The log of one test, as two processes have it. */
export class LogScene implements AsyncDisposable {
  readonly log: SharedLog
  readonly other: SharedLog
  readonly runtime: Runtime
  readonly signal: AbortSignal = new AbortController().signal

  constructor({ logs, runtime }: SharedLogUnderTest) {
    ;[this.log, this.other] = logs
    this.runtime = runtime
  }

  /** Reads from a position to the end. */
  async rest(log: SharedLog, after?: string): Promise<{ entries: SharedLogEntry[]; next: string | undefined }> {
    const entries: SharedLogEntry[] = []
    let next = after
    for (;;) {
      const read = await log.read(next, { waitMs: 0, signal: this.signal })
      entries.push(...read.entries)
      next = read.next
      if (read.isAtEnd) return { entries, next }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Collects the tests of a part of this suite. */
export type LogSuite = Suite<LogScene, never>

/** Returns the keys and values of entries. */
export const pairs = (entries: readonly SharedLogEntry[]): readonly (readonly [string, unknown])[] =>
  entries.map(({ key, value }) => [key, value])

/** Returns the newest value of each key. */
export function newest(entries: readonly SharedLogEntry[]): Map<string, unknown> {
  return new Map(pairs(entries))
}
