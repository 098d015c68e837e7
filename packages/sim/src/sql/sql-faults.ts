/** Random faults between a process and its database. */

import { WaybillError } from '@waybill/core'
import { type Random } from '@waybill/core/internal'
import type { OutboxStore } from '@waybill/outbox'

/** The statements of a process. */
export type SimStatement = keyof OutboxStore | 'begin' | 'lock' | 'savepoint' | 'rollbackTo' | 'commit' | 'rollback'

/** How often each fault hits a statement, from 0 to 1. */
export interface SqlFaultRates {
  /** Refused before it did anything: a deadlock, or a conflict that serialisation finds. */
  readonly refused?: number
  /** The connection ends before the statement did anything. */
  readonly cut?: number
  /** It did everything, and the connection ends before its answer comes. */
  readonly lostAnswer?: number
  /** It waits, before or after it is carried out. */
  readonly delay?: number
}

/** Name of a fault. */
export type SqlFaultName = keyof SqlFaultRates

/** Faults that hit at random. */
export interface SqlFaultProfile {
  readonly rates: Readonly<Partial<Record<SimStatement, SqlFaultRates>>>
  readonly maxDelayMs: number
}

/** The fault of one statement. */
export interface SqlMishap {
  readonly fault: Exclude<SqlFaultName, 'delay'> | undefined
  /** Before it is carried out, and after. */
  readonly delaysMs: readonly [number, number]
}

/** The simulated database failed a statement, or its outcome is unknown. */
export class SimSqlError extends WaybillError {
  static override readonly code = 'WAYBILL_SIM_SQL'
  /** REFUSED: nothing was done, and the connection lives. LOST: the connection is gone, and whatever was asked may be done. */
  readonly kind: 'REFUSED' | 'LOST'

  constructor(kind: 'REFUSED' | 'LOST', what: string) {
    super(what, { impact: 'What was committed stays.' })
    this.kind = kind
  }
}

const calm: SqlMishap = { fault: undefined, delaysMs: [0, 0] }
const faults = ['refused', 'cut', 'lostAnswer'] as const satisfies readonly SqlFaultName[]

/** Decides what befalls each statement, and counts it. */
export class SqlFaults {
  readonly counts: Map<string, number> = new Map()
  readonly #random: Random
  #profile: SqlFaultProfile | false = false

  constructor(random: Random) {
    this.#random = random
  }

  set(profile: SqlFaultProfile | false): void {
    this.#profile = profile
  }

  draw(statement: SimStatement): SqlMishap {
    const rates = this.#profile === false ? undefined : this.#profile.rates[statement]
    if (rates === undefined) return calm
    const fault = faults.find((one) => this.#hits(rates[one]))
    if (fault !== undefined) this.count(`${statement} ${fault}`)
    return { fault, delaysMs: this.#hits(rates.delay) ? this.#drawDelays(statement) : [0, 0] }
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
  }

  #drawDelays(statement: SimStatement): readonly [number, number] {
    this.count(`${statement} delay`)
    const { maxDelayMs } = this.#profile as SqlFaultProfile
    const ms = this.#random() ** 3 * maxDelayMs
    return this.#random() < 0.5 ? [ms, 0] : [0, ms]
  }

  #hits(rate: number | undefined): boolean {
    return rate !== undefined && rate > 0 && this.#random() < rate
  }
}
