import { type Database, type EventCatalog, type EventEnvelope, type Schemas, StateError } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import type { OutboxStore } from '@waybill/outbox'
import { shardCount } from '@waybill/outbox/internal'
import type { ReadBudget } from './read-budget.ts'
import type { WaitingReading, WaitingRecord, WaitingSource } from './waiting-source.ts'

/** The outbox to read. */
export interface WaitingOutboxOptions<S extends Schemas = Schemas> {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: OutboxStore
  /** The catalog that will publish the rows. */
  readonly events: EventCatalog<S>
}

const rowsPerRead = 200
const shards = Array.from({ length: shardCount }, (_, shard) => shard)

/**
 * Reads the rows that an outbox has yet to publish, and its dead events, which may be replayed. Rows are not claimed. Rows
 * without a key that are not due yet cannot be listed; they are counted as unread.
 */
export function waitingOutbox<S extends Schemas>(options: WaitingOutboxOptions<S>): WaitingSource {
  const { database, store, events } = options
  return {
    read: (budget, visit) =>
      database.connection(async (connection) => {
        const reading = new OutboxReading(connection, store, budget, (event, problem, row) =>
          visit(recordOf(events, event, problem, row)),
        )
        return [await reading.pending(), await reading.dead()]
      }),
  }
}

interface Row {
  readonly seq: bigint
  readonly bytes: number
}

type VisitRow = (event: EventEnvelope | null, problem: Error | null, row: Row) => Promise<void>

/** One pass over the table. */
class OutboxReading {
  readonly #connection: SqlConnection
  readonly #store: OutboxStore
  readonly #budget: ReadBudget
  readonly #visit: VisitRow

  constructor(connection: SqlConnection, store: OutboxStore, budget: ReadBudget, visit: VisitRow) {
    this.#connection = connection
    this.#store = store
    this.#budget = budget
    this.#visit = visit
  }

  async pending(): Promise<WaitingReading> {
    const floors = new Map<number, bigint | null>(shards.map((shard) => [shard, null]))
    const progress = { read: 0, bytes: 0 }
    while (floors.size > 0 && this.#budget.spent === null) {
      // Each shard that is asked returns a row if it has one.
      const parts = [...floors].slice(0, this.#budget.records)
      const limit = Math.max(1, Math.min(rowsPerRead, Math.floor(this.#budget.records / parts.length)))
      const maxBytes = this.#budget.bytes
      const rows = await this.#store.readShards(this.#connection, {
        shards: parts.map(([shard, floor]) => ({ shard, floor, without: [] })),
        limit,
        maxBytes,
      })
      let bytesRead = 0
      const counts = new Map<number, number>()
      for (const row of rows) {
        const { shard, seq, bytes } = row
        bytesRead += bytes
        counts.set(shard, (counts.get(shard) ?? 0) + 1)
        floors.set(shard, seq)
        this.#count(progress, bytes)
        // Without a problem it was published and deleted while it was read.
        if (row.event !== null) await this.#visit(row.event, null, row)
        else if (row.problem !== null) await this.#visit(null, row.problem, row)
      }
      for (const [shard] of parts) if (bytesRead < maxBytes && (counts.get(shard) ?? 0) < limit) floors.delete(shard)
    }
    const { pending, more } = await this.#store.backlog(this.#connection, { countUpTo: progress.read + 10_000 })
    const unread = more ? null : Math.max(0, pending - progress.read)
    const endedBy = unread === 0 ? null : (this.#budget.spent ?? 'rows without a key that are not due yet')
    return { name: 'outbox', ...progress, unread, withoutContent: 0, endedBy }
  }

  async dead(): Promise<WaitingReading> {
    const progress = { read: 0, bytes: 0 }
    let after: bigint | undefined
    while (this.#budget.spent === null) {
      const limit = Math.min(rowsPerRead, this.#budget.records)
      const rows = await this.#store.queryDead(this.#connection, { limit, after })
      for (const { seq, event } of rows) {
        const bytes = event === null ? 0 : Buffer.byteLength(event.payloadJson)
        this.#count(progress, bytes)
        await this.#visit(event, event === null ? new StateError(`Row ${seq} cannot be read.`) : null, { seq, bytes })
      }
      after = rows.at(-1)?.seq
      if (rows.length < limit) break
    }
    const unread = Math.max(0, (await this.#store.countDead(this.#connection, {})) - progress.read)
    const endedBy = unread === 0 ? null : (this.#budget.spent ?? 'rows that died while they were read')
    return { name: 'outbox, dead events', ...progress, unread, withoutContent: 0, endedBy }
  }

  #count(progress: { read: number; bytes: number }, bytes: number): void {
    this.#budget.take(bytes)
    progress.read += 1
    progress.bytes += bytes
  }
}

function recordOf<S extends Schemas>(
  { wireFormat }: EventCatalog<S>,
  event: EventEnvelope | null,
  problem: Error | null,
  { seq, bytes }: Row,
): WaitingRecord {
  const place = `outbox row ${seq}`
  if (event === null)
    return { place, wire: problem ?? new StateError(`Row ${seq} has no event.`), bytes, wasUnreadable: true }
  try {
    return { place, wire: wireFormat.encode(event), bytes, wasUnreadable: false }
  } catch (error) {
    return { place, wire: error as Error, bytes, wasUnreadable: false }
  }
}
