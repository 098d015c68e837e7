import assert from 'node:assert/strict'
import type { OriginalPlace } from '@waybill/connector/internal'
import { type EventuallyOptions, eventually } from '../wait/eventually.ts'
import { lastWords, timesOf } from './handler-sight.ts'
import { placeName } from './place-name.ts'
import type { HandlerCall } from './recording-handler.ts'

/** A record that a test wrote, and where it is. */
export interface WrittenRecord extends OriginalPlace {
  readonly key: string | null
  readonly value: string | null
}

/** What a test wrote, and what of it was handled: so a test can say that nothing is lost without counting by hand. */
export interface HandlerJournal {
  /** Records that the cluster has acknowledged, in that order. */
  readonly written: readonly WrittenRecord[]
  /** Calls that succeeded, of all handlers that belong to this journal. */
  readonly handled: readonly HandlerCall[]
  /**
   * Written, and no call for it has succeeded yet. Where two groups read one topic, a success in either counts: ask their
   * handlers what each has handled.
   */
  unhandled(): readonly WrittenRecord[]
  /** Written, and a handler has succeeded with it more than once: at least once is not exactly once. */
  repeated(): readonly WrittenRecord[]
  /** Waits until a call has succeeded for every record that is written. */
  allHandled(): Promise<void>
}

/** The side of a {@link HandlerJournal} that writes. */
export interface JournalEntries extends HandlerJournal {
  noteWritten(record: WrittenRecord): void
  /** Writes down how the calls of one handler end. */
  recorder(): JournalRecorder
}

/** What a journal hears of a handler. */
export interface JournalRecorder {
  handled(call: HandlerCall): void
  failed(call: HandlerCall, error: unknown): void
}

/** How often the calls for a record have failed, and how the last did. */
interface Failures {
  readonly count: number
  readonly last: unknown
}

/** Makes a {@link HandlerJournal}. Records are compared by where they were first, so that one in a tier is the same one. */
export function createHandlerJournal(options: EventuallyOptions): JournalEntries {
  const written: WrittenRecord[] = []
  const handled: HandlerCall[] = []
  const places = new Set<string>()
  const repeated = new Set<string>()
  const failures = new Map<string, Failures>()
  const unhandled = (): readonly WrittenRecord[] => written.filter((record) => !places.has(placeName(record)))
  return {
    written,
    handled,
    unhandled,
    repeated: () => written.filter((record) => repeated.has(placeName(record))),
    allHandled: () => eventually(() => assertNone(unhandled(), written.length, failures), options),
    noteWritten: (record) => void written.push(record),
    recorder() {
      const own = new Set<string>()
      return {
        handled(call) {
          handled.push(call)
          const place = placeName(call.original)
          if (own.has(place)) repeated.add(place)
          own.add(place)
          places.add(place)
        },
        failed({ original }, last) {
          const place = placeName(original)
          failures.set(place, { count: (failures.get(place)?.count ?? 0) + 1, last })
        },
      }
    },
  }
}

const shownAtMost = 5

function assertNone(
  unhandled: readonly WrittenRecord[],
  written: number,
  failures: ReadonlyMap<string, Failures>,
): void {
  if (unhandled.length === 0) return
  const shown = unhandled.slice(0, shownAtMost).map((record) => {
    const failed = failures.get(placeName(record))
    return `${placeName(record)} ${JSON.stringify(record.value)}${failed === undefined ? '' : ` ${describeFailures(failed)}`}`
  })
  const rest = unhandled.length > shownAtMost ? `, and ${unhandled.length - shownAtMost} more` : ''
  const untried =
    failures.size === 0 ? ' No call of a handler of this test has failed: look whether one reads them.' : ''
  assert.fail(
    `${unhandled.length} of ${written} records ${unhandled.length === 1 ? 'is' : 'are'} not handled: ` +
      `${shown.join(', ')}${rest}.${untried}`,
  )
}

function describeFailures({ count, last }: Failures): string {
  return `(failed ${timesOf(count)}, the last with ${lastWords(last)})`
}
