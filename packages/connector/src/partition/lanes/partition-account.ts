/**
 * The settled offsets of a partition, and how many of them the coordinator has acknowledged: its ledger, its commits and
 * the metric of processed records.
 */

import type { KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { OversizedBatch } from '@waybill/kafka/internal'
import type { BindingTelemetry } from '../../binding/binding-telemetry.ts'
import type { Batch } from '../../delivery/batch.ts'
import type { RecordRun, Work } from '../../delivery/work.ts'
import { isGapless } from '../../ledger/is-gapless.ts'
import { Ledger, type LedgerState, ledgerStateAt, type Settlement } from '../../ledger/ledger.ts'
import { CommitProgress } from '../commit-progress.ts'

/** See the file's comment. */
export class PartitionAccount {
  readonly #at: TopicPartition
  readonly #telemetry: Pick<BindingTelemetry, 'processed'>
  readonly #progress: CommitProgress
  #ledger = new Ledger(ledgerStateAt(0n))
  #startLimit = 0
  #urgentFrom = 0
  /** Processed records that are not in the metric yet: updating it for each record would cost more than the rest. */
  #uncounted = 0

  /** @param maxAhead - the distance that records may run ahead of the acknowledged commit */
  constructor(at: TopicPartition, maxAhead: number, telemetry: Pick<BindingTelemetry, 'processed'>) {
    this.#at = at
    this.#telemetry = telemetry
    this.#progress = new CommitProgress(maxAhead)
  }

  /** Starts with a ledger whose position is committed. */
  begin(ledger: Ledger): void {
    this.#ledger = ledger
    this.#progress.beginAt(ledger.watermark)
    this.#measure()
  }

  /** The first unsettled offset. */
  get watermark(): bigint {
    return this.#ledger.watermark
  }

  /** See {@link Ledger.next}. */
  get next(): bigint {
    return this.#ledger.next
  }

  /** The next offset to read, as acknowledged. */
  get committed(): bigint {
    return this.#progress.position
  }

  /** True when everything below the watermark is acknowledged. */
  get isCommitted(): boolean {
    return this.#progress.position >= this.watermark
  }

  /** A distance: records from there on start only after another acknowledgement. */
  get startLimit(): number {
    return this.#startLimit
  }

  /** Returns true when records would wait for a commit that is not sent at once. */
  isUrgent({ distance }: Work): boolean {
    return distance >= this.#urgentFrom
  }

  /** Notes fetched records. @returns those that no previous owner has settled above its committed position */
  fetched(records: readonly KafkaRecord[]): readonly RecordRun[] {
    const before = this.#ledger.watermark
    const unsettled = this.#unsettledOf(records)
    // A gap before them. Records behind a wide gap start only once it is committed.
    if (this.#ledger.watermark !== before) this.#progress.changed()
    return unsettled
  }

  /** Notes that the log has no further record below an offset. @returns true if that settles something */
  reached(position: bigint): boolean {
    const before = this.#ledger.watermark
    this.#ledger.reached(position)
    if (this.#ledger.watermark === before) return false
    this.#progress.changed()
    return true
  }

  settle({ distance }: Work, as: Settlement): void {
    this.#ledger.settleAt(distance, as)
    this.#progress.changed()
    if (as === 'OK') this.#uncounted++
  }

  /** Settles all records of a batch as OK, at the price of one. */
  settleAll(batch: Batch): void {
    const { first, size } = batch
    if (batch.isGapless) this.#ledger.settleRunAt(first.distance, size, 'OK')
    else for (const { distance } of batch.works) this.#ledger.settleAt(distance, 'OK')
    this.#progress.changed()
    this.#uncounted += size
  }

  /** True while no fetched record is unsettled. */
  get hasNoUnsettled(): boolean {
    return this.#ledger.hasNoUnsettled
  }

  /** Settles all offsets of a batch that cannot be read, as DEAD. See {@link Ledger.settleUnfetched}. */
  bury({ firstOffset, lastOffset }: Pick<OversizedBatch, 'firstOffset' | 'lastOffset'>): void {
    this.#ledger.settleUnfetched(firstOffset, lastOffset, 'DEAD')
    this.#progress.changed()
  }

  /** Returns the state to commit. Undefined: nothing has changed since the last acknowledged commit. */
  pending(): LedgerState | undefined {
    if (this.#progress.isAcknowledged) return undefined
    this.count()
    this.#progress.sent()
    return this.#ledger.state()
  }

  /** Acknowledges the last pending commit. Returns false if it belongs to an earlier ledger. */
  acknowledged(position: bigint): boolean {
    if (!this.#progress.acknowledged(position)) return false
    this.#measure()
    return true
  }

  /** Makes the state pending again. */
  repeat(): void {
    this.#progress.changed()
  }

  /** Adds processed records to the metric. */
  count(): void {
    if (this.#uncounted === 0) return
    this.#telemetry.processed(this.#at.topic, this.#at.partition, this.#uncounted)
    this.#uncounted = 0
  }

  /** Converts limits to distances once per commit: comparing big integers would cost time for each record. */
  #measure(): void {
    this.#startLimit = this.#ledger.distanceOf(this.#progress.startLimit)
    this.#urgentFrom = this.#ledger.distanceOf(this.#progress.urgentFrom)
  }

  #unsettledOf(records: readonly KafkaRecord[]): readonly RecordRun[] {
    const first = records[0]?.offset
    if (first === undefined) return []
    if (isGapless(records) && this.#ledger.fetchedRun(first, records.length))
      return [{ records, distance: this.#ledger.distanceOf(first) }]
    return this.#runsOf(records.filter(({ offset }) => this.#ledger.fetched(offset)))
  }

  #runsOf(records: readonly KafkaRecord[]): RecordRun[] {
    const runs: { records: KafkaRecord[]; distance: number }[] = []
    for (const record of records) {
      const distance = this.#ledger.distanceOf(record.offset)
      const last = runs.at(-1)
      if (last !== undefined && last.distance + last.records.length === distance) last.records.push(record)
      else runs.push({ records: [record], distance })
    }
    return runs
  }
}
