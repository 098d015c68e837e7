/** Records the truth about every event, from the rows and the calls of listeners: the engine has no part in it. */

import { keyText } from '@waybill/outbox/internal'
import type { Decided } from './decided.ts'
import type { EventPlan } from './event-plan.ts'
import type { Program } from './program.ts'

export interface EventRecord {
  readonly plan: EventPlan
  seq: bigint | null
  /** Its number in the order of commits; Infinity while it is not committed. */
  committedAs: number
  /** The outcome of its transaction in the database; undefined while it is open, or was never opened. */
  end: 'COMMITTED' | 'ROLLED_BACK' | undefined
  /** The writer was warned that a savepoint may undo this event alone. */
  mayBeUndone: boolean
  /** Calls of listeners so far. */
  calls: number
  /** Successful calls, in total and since an operator replayed it. */
  arrivals: number
  arrivalsSinceReplay: number
  isReplayed: boolean
  wasDone: boolean
  wasDead: boolean
  /** The decision that last made it DEAD. */
  diedOf: Decided | undefined
  /** Monotonic time. */
  doneAt: number | undefined
}

/** Events by id. */
export class EventBook {
  readonly #records = new Map<string, EventRecord>()

  constructor({ transactions }: Pick<Program, 'transactions'>) {
    for (const plan of transactions.flatMap(({ events }) => events)) this.add(plan)
  }

  /** Adds an event that will be written. */
  add(plan: EventPlan): void {
    this.#records.set(plan.id, {
      plan,
      seq: null,
      committedAs: Number.POSITIVE_INFINITY,
      end: undefined,
      mayBeUndone: false,
      calls: 0,
      arrivals: 0,
      arrivalsSinceReplay: 0,
      isReplayed: false,
      wasDone: false,
      wasDead: false,
      diedOf: undefined,
      doneAt: undefined,
    })
  }

  get all(): readonly EventRecord[] {
    return [...this.#records.values()]
  }

  of(eventId: string): EventRecord {
    const record = this.#records.get(eventId)
    if (record === undefined) throw new Error(`No plan writes event "${eventId}".`)
    return record
  }
}

/** Returns the key of an event as one text; null when it is unordered. */
export function keyOfPlan({ key }: EventPlan): string | null {
  return key === null ? null : keyText({ aggregateType: '__GLOBAL__', aggregateId: key })
}
