/**
 * Reads everything ever written to a partition straight from the cluster's log. It keeps deleted records, and uses only
 * the markers to decide what a read-committed consumer may see: the client under test has no part in it.
 */

import { type RecordBatch, readBatches } from '@waybill/kafka/wire'
import type { SimCluster } from '@waybill/sim'

/** A record in the log. OPEN: its transaction has not ended. */
export interface LogEntry {
  readonly offset: bigint
  /** The value as text: the id that programs use for this record. */
  readonly id: string
  readonly isTransactional: boolean
  state: 'COMMITTED' | 'OPEN' | 'ABORTED'
}

const nowhere = { topic: '', partition: -1, epoch: -1 }

/** One partition's journal. */
export class LogJournal {
  readonly topic: string
  readonly partition: number
  readonly #cluster: SimCluster
  readonly #entries: LogEntry[] = []
  readonly #open = new Map<bigint, LogEntry[]>()
  #end = 0n
  #start = 0n

  constructor(cluster: SimCluster, topic: string, partition: number) {
    this.#cluster = cluster
    this.topic = topic
    this.partition = partition
  }

  /** Everything up to now, in the order of offsets. */
  entries(): readonly LogEntry[] {
    this.#read()
    return this.#entries
  }

  /** Returns entries, read at least up to that offset, with the outcome of every transaction completed before it. */
  upTo(offset: bigint): readonly LogEntry[] {
    if (offset > this.#end || this.#open.size > 0) this.#read()
    return this.#entries
  }

  /** Offset behind the last record or marker. */
  get end(): bigint {
    this.#read()
    return this.#end
  }

  /** False for records that no consumer can fetch any more. */
  isKept({ offset }: LogEntry): boolean {
    return offset >= this.#start
  }

  /** Deletes records from the log after the journal has read them. */
  deleteBefore(offset: bigint): void {
    this.#read()
    if (offset > this.#start) this.#start = offset
    this.#cluster.deleteRecords(this.topic, this.partition, offset)
  }

  get start(): bigint {
    return this.#start
  }

  #read(): void {
    const log = this.#cluster.partition(this.topic, this.partition)
    if (log.highWatermark === this.#end) return
    for (const batch of readBatches(log.records)) {
      if (batch.baseOffset < this.#end) continue
      if (batch.isControl) this.#mark(batch)
      else this.#add(batch)
      this.#end = batch.lastOffset + 1n
    }
  }

  #mark(batch: RecordBatch): void {
    const state = batch.controlKind() === 'COMMIT' ? 'COMMITTED' : 'ABORTED'
    for (const entry of this.#open.get(batch.producerId) ?? []) entry.state = state
    this.#open.delete(batch.producerId)
  }

  #add(batch: RecordBatch): void {
    const { isTransactional, producerId } = batch
    for (const record of batch.records(nowhere, batch.baseOffset)) {
      const id = idOf(record.value)
      const entry: LogEntry = { offset: record.offset, id, isTransactional, state: 'COMMITTED' }
      this.#entries.push(entry)
      if (!isTransactional) continue
      entry.state = 'OPEN'
      const open = this.#open.get(producerId)
      if (open === undefined) this.#open.set(producerId, [entry])
      else open.push(entry)
    }
  }
}

/** Returns a record's id: its value up to the first space. The rest is padding. */
export function idOf(value: Buffer | null): string {
  const text = value?.toString('latin1') ?? ''
  const space = text.indexOf(' ')
  return space < 0 ? text : text.slice(0, space)
}

/** Index of the first entry at or after an offset. */
export function indexAt(entries: readonly LogEntry[], offset: bigint): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((entries[middle] as LogEntry).offset < offset) low = middle + 1
    else high = middle
  }
  return low
}
