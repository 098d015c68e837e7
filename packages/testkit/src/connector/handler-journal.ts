import assert from 'node:assert/strict'
import type { OriginalPlace } from '@waybill/connector/internal'
import { type EventuallyOptions, eventually } from '../wait/eventually.ts'
import { lastWords, timesOf } from './handler-sight.ts'
import { placeName } from './place-name.ts'
import type { HandlerCall } from './recording-handler.ts'

/** A record that a test wrote, with its position. */
export interface WrittenRecord extends OriginalPlace {
  readonly key: string | null
  readonly value: string | null
}

/** The records that a test wrote, and the handled ones among them, so that a test can assert that none is lost. */
export interface HandlerJournal {
  /** Records that the cluster has acknowledged, in that order. */
  readonly written: readonly WrittenRecord[]
  /** Successful calls of all handlers of this journal. */
  readonly handled: readonly HandlerCall[]
  /**
   * Returns written records without a successful call. If two groups read one topic, a success in either counts: check
   * their handlers for what each has handled.
   */
  unhandled(): readonly WrittenRecord[]
  /** Returns written records that one handler has handled more than once: delivery is at least once. */
  repeated(): readonly WrittenRecord[]
  /** Waits until every written record has a successful call. */
  allHandled(): Promise<void>
}

/** The writing side of a {@link HandlerJournal}. */
export interface JournalEntries extends HandlerJournal {
  noteWritten(record: WrittenRecord): void
  /** Returns a recorder for the calls of one handler. */
  recorder(): JournalRecorder
}

/** Records the results of a handler's calls. */
export interface JournalRecorder {
  handled(call: HandlerCall): void
  failed(call: HandlerCall, error: unknown): void
}

/** Number of failed calls for a record, and the last error. */
interface Failures {
  readonly count: number
  readonly last: unknown
}

/**
 * Creates a {@link HandlerJournal}. Records are identified by their original position, so that a record in a tier
 * counts as the same one.
 */
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
    failures.size === 0 ? ' No handler call of this test has failed: check that a handler reads them.' : ''
  assert.fail(
    `${unhandled.length} of ${written} records ${unhandled.length === 1 ? 'is' : 'are'} not handled: ` +
      `${shown.join(', ')}${rest}.${untried}`,
  )
}

function describeFailures({ count, last }: Failures): string {
  return `(failed ${timesOf(count)}, the last with ${lastWords(last)})`
}
