/**
 * Reads single rows that probe unavailable destinations. The rows behind them are not read again before a probe is
 * delivered, however many wait.
 */

import { type Database, type Runtime } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import type { OutboxStore, ShardRow } from '../api/outbox-store.ts'
import type { Destinations } from '../destination/destinations.ts'
import type { KeyedDispatcher } from './keyed-dispatcher.ts'
import type { ProbeRow } from './parked-keys.ts'
import type { ShardQueue } from './shard-queue.ts'

export interface ProbeReaderDeps {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'readShards' | 'earlierRows'>
  readonly destinations: Pick<Destinations, 'probes' | 'defer'>
  readonly runtime: Pick<Runtime, 'clock'>
  /** Whether this mode owns the table at this monotonic time. */
  readonly isModeOpen: (nowMs: number) => boolean
}

interface Candidate {
  readonly queue: ShardQueue
  readonly row: ProbeRow
}

export class ProbeReader {
  readonly #deps: ProbeReaderDeps
  readonly #dispatcher: KeyedDispatcher
  #turn = 0

  constructor(deps: ProbeReaderDeps, dispatcher: KeyedDispatcher) {
    this.#deps = deps
    this.#dispatcher = dispatcher
  }

  /** When the next probe is due, by the monotonic clock. Infinity: no row of this node's shards waits for one. */
  get nextAt(): number {
    const { destinations, runtime, isModeOpen } = this.#deps
    let next = Number.POSITIVE_INFINITY
    if (!isModeOpen(runtime.clock.monotonic())) return next
    for (const { name, at, lastFailed } of destinations.probes())
      if (at < next && this.#dispatcher.queues.some((queue) => queue.probeOf(name, lastFailed) !== 'NONE')) next = at
    return next
  }

  /** Reads a row for each probe that is due. Rejects if the database fails. */
  async read(): Promise<void> {
    const { destinations, runtime, isModeOpen } = this.#deps
    const now = runtime.clock.monotonic()
    if (!isModeOpen(now)) return
    const due = [...destinations.probes()].filter(({ at }) => at <= now)
    for (const { name, lastFailed } of due) await this.#probe(name, lastFailed)
  }

  async #probe(name: string, lastFailed: string): Promise<void> {
    const { destinations, database, runtime } = this.#deps
    const candidate = this.#candidateFor(name, lastFailed)

    if (candidate !== undefined) {
      const { queue, row } = candidate
      const read = await database.connection((connection) => this.#find(connection, candidate))
      queue.placeProbe(name, row, read, runtime.clock.monotonic())
      this.#dispatcher.offer(queue)
      this.#dispatcher.pump()
    }
    // Unless the probe started.
    destinations.defer(name)
  }

  /** Prefers a row that did not fail last. If no row is known, the waiting rows are read again. */
  #candidateFor(name: string, lastFailed: string): Candidate | undefined {
    const queues = this.#dispatcher.queues
    const found: Candidate[] = []
    for (let at = 0; at < queues.length; at++) {
      const queue = queues[(this.#turn + at) % queues.length] as ShardQueue
      const row = queue.probeOf(name, lastFailed)
      if (row === 'UNKNOWN') queue.opened(name)
      if (typeof row !== 'string') found.push({ queue, row })
    }
    this.#turn++
    return found.find(({ row }) => row.eventId !== lastFailed) ?? found[0]
  }

  /** Runs two statements: the second finds an earlier row of the key that was committed before the first one. */
  async #find(connection: SqlConnection, { queue, row }: Candidate): Promise<ShardRow | undefined> {
    const { store } = this.#deps
    const query = queue.queryProbe(row)
    const [read] = await store.readShards(connection, { shards: [query.row], limit: 1, maxBytes: 1 })
    const [earlier] = query.earlier === undefined ? [] : await store.earlierRows(connection, [query.earlier])
    if (earlier === undefined) return read
    queue.readFrom(earlier.seq)
    return undefined
  }
}
