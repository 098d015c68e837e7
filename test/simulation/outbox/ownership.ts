/** Decides who owns a row, by the database's clock alone (I6). */

import { modeShard, soleNodeShard } from '@waybill/outbox/internal'
import type { SimOutboxRow, SimSqlServer } from '@waybill/sim/internal'
import type { Program } from './program.ts'

/** Lease duration of a node that works on a table alone. */
const soleLeaseMs = 10_000
/** How long a mode keeps a table without a renewal. */
export const modeLeaseMs = 15_000

/** A process and the version of its lease. */
export interface Holder {
  readonly process: string
  readonly version: bigint
}

/** See the file's comment. */
export class Ownership {
  readonly #program: Program
  readonly #server: () => SimSqlServer
  /** Processes by owner name. */
  readonly #processes = new Map<string, string>()
  #doubtUntil = Number.NEGATIVE_INFINITY
  #doubtModeUntil = Number.NEGATIVE_INFINITY
  /** Processes that were granted the whole table, by version. */
  readonly #tables = new Map<bigint, string>()

  constructor(program: Program, server: () => SimSqlServer) {
    this.#program = program
    this.#server = server
  }

  learn(owner: string, process: string): void {
    this.#processes.set(owner, process)
  }

  processOf(owner: string | null): string | undefined {
    return owner === null ? undefined : this.#processes.get(owner)
  }

  /**
   * Notes that the database's clock was set forward: leases expire before their holders can know.
   *
   * @param now - monotonic
   */
  doubt(now: number): void {
    const { mode, options } = this.#program
    const leaseMs = mode === 'singleNode' || mode === 'ordered' ? soleLeaseMs : options.leaseMs
    this.#doubtUntil = now + leaseMs
    this.#doubtModeUntil = now + modeLeaseMs
  }

  /** Returns true when a holder can rely on its own clock. */
  isSure(now: number): boolean {
    return now >= this.#doubtUntil
  }

  /**
   * Returns true when another mode owns the table, and a node can know that by its own clock.
   *
   * @param now - monotonic
   */
  isOtherModes(now: number): boolean {
    const server = this.#server()
    const mark = server.table.shards.get(modeShard)
    if (mark === undefined || now < this.#doubtModeUntil) return false
    return mark.owner !== `Outbox.${this.#program.mode}` && mark.until > server.now()
  }

  /** Records that a process was granted the table. */
  tookTable(version: bigint, process: string): void {
    this.#tables.set(version, process)
  }

  /** Returns true when a process owned the whole table from one version to another, as far as it was notified. */
  hadTable(process: string, from: bigint, to: bigint): boolean {
    for (let version = from; version <= to; version++) if (this.#tables.get(version) !== process) return false
    return true
  }

  /** Returns the current or last owner of the table. */
  lastOfTable(): string | undefined {
    return this.processOf(this.#server().table.shards.get(soleNodeShard)?.owner ?? null)
  }

  /** Returns the holder of the row and its lease version; undefined when there is none. */
  holderOf(row: Readonly<SimOutboxRow>): Holder | undefined {
    const latest = this.#latestOf(row)
    return latest === undefined || latest.until <= this.#server().now() ? undefined : latest
  }

  /**
   * Returns the holder of the row as far as its process can know. While the database's clock runs ahead that is the last
   * holder: its lease is over for the database, and holds again with the next renewal.
   */
  believedHolderOf(row: Readonly<SimOutboxRow>, now: number): Holder | undefined {
    return this.isSure(now) ? this.holderOf(row) : this.#latestOf(row)
  }

  #latestOf(row: Readonly<SimOutboxRow>): (Holder & { readonly until: number }) | undefined {
    const { mode } = this.#program
    if (mode === 'multiNode') {
      const process = this.processOf(row.lockedBy)
      return process === undefined ? undefined : { process, version: row.version, until: row.lockedUntil }
    }
    const shard = mode === 'keyed' || mode === 'leasing' ? row.shard : soleNodeShard
    const lease = this.#server().table.shards.get(shard)
    const process = this.processOf(lease?.owner ?? null)
    return lease === undefined || process === undefined
      ? undefined
      : { process, version: lease.version, until: lease.until }
  }
}
