/**
 * I23: a long outage costs little. While events wait for a destination and nothing else happens, a node reads the table
 * about as often as an idle one, and calls listeners only to probe.
 */

import { shardCount } from '@waybill/outbox/internal'
import type { SimStatement } from '@waybill/sim/internal'
import type { Court } from '../world/court.ts'
import type { Program } from './program.ts'
import type { RareState } from './rare-states.ts'

interface QuietGround {
  readonly program: Program
  readonly court: Pick<Court<RareState>, 'violate' | 'reach'>
  readonly now: () => number
}

/** Counts are compared with the bounds once per window, and start anew. */
const windowMs = 10_000

const reads: ReadonlySet<SimStatement> = new Set([
  'pollPending',
  'claimPending',
  'readShards',
  'earlierRows',
  'openNumbers',
  'deadKeys',
  'findPending',
  'statusOf',
  'lockedRows',
])

/** See the file's comment. */
export class QuietChecker {
  readonly #world: QuietGround
  readonly #reads = new Map<string, number>()
  readonly #calls = new Map<string, number>()
  /** When the current window began; undefined while it is not quiet. */
  #since: number | undefined
  #beganAt = 0
  #waiting = 0

  constructor(world: QuietGround) {
    this.#world = world
  }

  /** Begins the quiet time. @param waiting - the number of rows that wait */
  begin(waiting: number): void {
    this.#beganAt = this.#world.now()
    this.#since = this.#beganAt
    this.#waiting = waiting
  }

  end(): void {
    if (this.#since !== undefined && this.#world.now() - this.#beganAt >= windowMs)
      this.#world.court.reach('outage: nothing else happens for a while')
    this.#since = undefined
    this.#reads.clear()
    this.#calls.clear()
  }

  sending(statement: SimStatement, process: string): void {
    if (this.#since === undefined || !reads.has(statement)) return
    const count = this.#count(this.#reads, process)
    if (count > this.#mostReads)
      this.#world.court.violate('I23', `${process} reads ${count} times within ${windowMs} ms of an outage`)
  }

  called(process: string): void {
    if (this.#since === undefined) return
    const count = this.#count(this.#calls, process)
    if (count > this.#mostCalls)
      this.#world.court.violate('I23', `${process} calls ${count} listeners within ${windowMs} ms of an outage`)
  }

  #count(counts: Map<string, number>, process: string): number {
    const now = this.#world.now()
    if (this.#since !== undefined && now - this.#since >= windowMs) {
      this.#since = now
      this.#reads.clear()
      this.#calls.clear()
    }
    const count = (counts.get(process) ?? 0) + 1
    counts.set(process, count)
    return count
  }

  /**
   * Twice as many as an idle node, and some for each row that waits: queries that begin at the start meet it, however
   * small their pages are.
   */
  get #mostReads(): number {
    const { mode, options } = this.#world.program
    const polls = windowMs / options.intervalMs + 1
    const isSharded = mode === 'keyed' || mode === 'leasing'
    // A node may have all shards, and reads them from the start and asks for open numbers besides.
    const idle = isSharded ? (polls + 10) * Math.ceil(shardCount / options.batchSize) : polls * 2
    return 2 * idle + 10 * this.#waiting + 100
  }

  /** A destination is probed after 200 ms at first, and less and less often. */
  get #mostCalls(): number {
    return 8 * (1 + this.#world.program.roads.destinations)
  }
}
