/**
 * Records the result reported for each sent record, and compares it with the logs at the end. A record that the broker
 * acknowledged is there once, at the reported offset; a rejected one is absent; an unknown one is there at most once.
 * All records of one producer are in the order of its sends.
 */

import type { SendResult } from '@waybill/kafka'
import type { Court } from './court.ts'
import type { LogJournal } from './log-journal.ts'

interface Sent {
  readonly producer: string
  readonly topic: string
  readonly ordinal: number
  outcome: 'PENDING' | 'WRITTEN' | 'NOT_WRITTEN' | 'UNKNOWN'
  written?: SendResult
  places: string[]
}

/** Checks the plain records of all producers. */
export class SendChecker {
  readonly #court: Court
  readonly #sent = new Map<string, Sent>()

  constructor(court: Court) {
    this.#court = court
  }

  get count(): number {
    return this.#sent.size
  }

  /** Records a send. */
  sent(id: string, producer: string, topic: string): void {
    this.#sent.set(id, { producer, topic, ordinal: this.#sent.size, outcome: 'PENDING', places: [] })
  }

  written(id: string, written: SendResult): void {
    const sent = this.#sent.get(id) as Sent
    sent.outcome = 'WRITTEN'
    sent.written = written
  }

  failed(id: string, isUnknown: boolean): void {
    const sent = this.#sent.get(id) as Sent
    sent.outcome = isUnknown ? 'UNKNOWN' : 'NOT_WRITTEN'
  }

  /** True when the log may hold a record of that id. */
  has(id: string): boolean {
    return this.#sent.has(id)
  }

  /** Compares the results with the logs. */
  finish(journals: readonly LogJournal[]): void {
    for (const journal of journals) this.#scan(journal)
    for (const [id, sent] of this.#sent) this.#judge(id, sent)
  }

  #scan(journal: LogJournal): void {
    const lastOrdinal = new Map<string, number>()
    for (const { id, offset } of journal.entries()) {
      const sent = this.#sent.get(id)
      if (sent === undefined) continue
      const place = `${journal.topic}-${journal.partition}@${offset}`
      sent.places.push(place)
      if ((lastOrdinal.get(sent.producer) ?? -1) > sent.ordinal)
        this.#court.violate('ORDER', `${id} is at ${place}, behind a record that ${sent.producer} sent after it`)
      lastOrdinal.set(sent.producer, sent.ordinal)
    }
  }

  #judge(id: string, { outcome, written, topic, places }: Sent): void {
    if (places.length > 1) this.#court.violate('ONCE', `${id} is in the log more than once: ${places.join(', ')}`)
    if (outcome === 'NOT_WRITTEN' && places.length > 0)
      this.#court.violate('REPORTED', `${id} was reported as not written and is at ${places[0]}`)
    if (outcome !== 'WRITTEN' || written === undefined) return
    const acknowledged = `${topic}-${written.partition}@${written.offset}`
    if (places.length === 0) this.#court.violate('LOST', `${id} was acknowledged at ${acknowledged} and is nowhere`)
    else if (written.offset >= 0n && places[0] !== acknowledged)
      this.#court.violate('REPORTED', `${id} was acknowledged at ${acknowledged} and is at ${places[0]}`)
  }
}
