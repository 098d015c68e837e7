/** Who has the right to a row, by the database's clock alone (I6). */

import { soleNodeShard } from '@waybill/core/outbox'
import type { SimOutboxRow, SimSqlServer } from '@waybill/sim'
import type { Program } from './program.ts'

/** How long a node that works on a table alone is believed to live. */
const soleLeaseMs = 10_000

/** See the file's comment. */
export class Ownership {
  readonly #program: Program
  readonly #server: () => SimSqlServer
  /** Which process an owner's name belongs to. */
  readonly #processes = new Map<string, string>()
  #doubtUntil = Number.NEGATIVE_INFINITY

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

  /** The database's clock was set forward: leases end before their holders can know. @param now - monotonic */
  doubt(now: number): void {
    const { mode, options } = this.#program
    const leaseMs = mode === 'singleNode' || mode === 'ordered' ? soleLeaseMs : options.leaseMs
    this.#doubtUntil = now + leaseMs
  }

  /** Whether a holder can know by its own clock that it holds. */
  isSure(now: number): boolean {
    return now >= this.#doubtUntil
  }

  /** Who holds the right to work on the row, and which one it is; undefined when nobody does. */
  holderOf(row: Readonly<SimOutboxRow>): { readonly process: string; readonly version: bigint } | undefined {
    const server = this.#server()
    const { mode } = this.#program
    if (mode === 'multiNode') {
      const process = this.processOf(row.lockedBy)
      if (process === undefined || row.lockedUntil <= server.now()) return undefined
      return { process, version: row.version }
    }
    const shard = mode === 'keyed' || mode === 'leasing' ? row.shard : soleNodeShard
    const lease = server.table.shards.get(shard)
    const process = this.processOf(lease?.owner ?? null)
    if (lease === undefined || process === undefined || lease.until <= server.now()) return undefined
    return { process, version: lease.version }
  }
}
