/**
 * What of a partition is settled, and how much of that the coordinator has acknowledged: its ledger, its commits, and the
 * metric that counts what its handlers did.
 */

import type { KafkaRecord, TopicPartition } from '@waybill/kafka'
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
  /** Handled, and not in the metric yet: an exporter's work for each record would cost more than the rest of its way. */
  #uncounted = 0

  /** @param maxAhead - how far records may run ahead of what is acknowledged */
  constructor(at: TopicPartition, maxAhead: number, telemetry: Pick<BindingTelemetry, 'processed'>) {
    this.#at = at
    this.#telemetry = telemetry
    this.#progress = new CommitProgress(maxAhead)
  }

  /** From here on with this ledger, whose position is committed. What was learnt before is forgotten. */
  begin(ledger: Ledger): void {
    this.#ledger = ledger
    this.#progress.beginAt(ledger.watermark)
    this.#measure()
  }

  /** The first offset that is not settled. */
  get watermark(): bigint {
    return this.#ledger.watermark
  }

  /** See {@link Ledger.next}. */
  get next(): bigint {
    return this.#ledger.next
  }

  /** Next offset acknowledged. */
  get committed(): bigint {
    return this.#progress.position
  }

  /** True when everything that is settled without a gap is acknowledged. */
  get isCommitted(): boolean {
    return this.#progress.position >= this.watermark
  }

  /** A distance: records from there on start only when more is acknowledged. */
  get startLimit(): number {
    return this.#startLimit
  }

  /** A commit that comes no sooner than records need it would hold them up. */
  isUrgent({ distance }: Work): boolean {
    return distance >= this.#urgentFrom
  }

  /** Notes fetched records. @returns those that no earlier owner has settled, above what it had committed */
  fetched(records: readonly KafkaRecord[]): readonly RecordRun[] {
    const before = this.#ledger.watermark
    const unsettled = this.#unsettledOf(records)
    // A hole before them. What lies behind a wide one starts only when that is committed.
    if (this.#ledger.watermark !== before) this.#progress.changed()
    return unsettled
  }

  /** The log has nothing more before this offset. @returns whether that settles something */
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

  /** As {@link settle} of each, at the price of one. */
  settleAll(batch: Batch): void {
    const { first, size } = batch
    if (batch.isGapless) this.#ledger.settleRunAt(first.distance, size, 'OK')
    else for (const { distance } of batch.works) this.#ledger.settleAt(distance, 'OK')
    this.#progress.changed()
    this.#uncounted += size
  }

  /** What is to be committed. Undefined: nothing has changed since the last commit that was acknowledged. */
  pending(): LedgerState | undefined {
    if (this.#progress.isAcknowledged) return undefined
    this.count()
    this.#progress.sent()
    return this.#ledger.state()
  }

  /** What was pending last is committed. False: it was pending before this ledger, and says nothing of it. */
  acknowledged(position: bigint): boolean {
    if (!this.#progress.acknowledged(position)) return false
    this.#measure()
    return true
  }

  /** The next commit says everything again. */
  repeat(): void {
    this.#progress.changed()
  }

  /** Puts what was handled into the metric. */
  count(): void {
    if (this.#uncounted === 0) return
    this.#telemetry.processed(this.#at.topic, this.#at.partition, this.#uncounted)
    this.#uncounted = 0
  }

  /** Distances, once for each commit: comparing large integers would cost something with each record. */
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
