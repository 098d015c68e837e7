/**
 * What of a partition is settled, and how much of that the coordinator has acknowledged: its ledger, its commits, and the
 * metric that counts what its handlers did.
 */

import type { KafkaRecord, TopicPartition } from '../../client/types.ts'
import { isGapless } from '../ledger/is-gapless.ts'
import { Ledger, type LedgerState, ledgerStateAt, type Settlement } from '../ledger/ledger.ts'
import type { BindingTelemetry } from '../telemetry.ts'
import { CommitProgress } from './commit-progress.ts'
import type { Work } from './work.ts'

/** See the file's comment. */
export class PartitionAccount {
  readonly #at: TopicPartition
  readonly #telemetry: Pick<BindingTelemetry, 'processed'>
  readonly #progress: CommitProgress
  #ledger = new Ledger(ledgerStateAt(0n))
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
  }

  /** The first offset that is not settled. */
  get watermark(): bigint {
    return this.#ledger.watermark
  }

  /** Next offset acknowledged. */
  get committed(): bigint {
    return this.#progress.position
  }

  /** True when everything that is settled without a gap is acknowledged. */
  get isCommitted(): boolean {
    return this.#progress.position >= this.watermark
  }

  /** Offsets from here on start only when more is acknowledged. */
  get startLimit(): bigint {
    return this.#progress.startLimit
  }

  /** A commit that comes no sooner than records need it would hold them up. */
  isUrgent(offset: bigint): boolean {
    return this.#progress.isUrgent(offset)
  }

  /** Notes fetched records. @returns those that no earlier owner has settled, above what it had committed */
  fetched(records: readonly KafkaRecord[]): readonly KafkaRecord[] {
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

  settle(offset: bigint, as: Settlement): void {
    this.#ledger.settle(offset, as)
    this.#progress.changed()
    if (as === 'OK') this.#uncounted++
  }

  /** As {@link settle} of each, at the price of one. */
  settleAll(works: readonly Work[]): void {
    if (isGapless(works)) this.#ledger.settleRun((works[0] as Work).offset, works.length, 'OK')
    else for (const { offset } of works) this.#ledger.settle(offset, 'OK')
    this.#progress.changed()
    this.#uncounted += works.length
  }

  /** What is to be committed. Undefined: nothing has changed since the last commit that was acknowledged. */
  pending(): LedgerState | undefined {
    if (this.#progress.isAcknowledged) return undefined
    this.count()
    this.#progress.sent()
    return this.#ledger.state()
  }

  /** What was pending last is committed. */
  acknowledged(position: bigint): void {
    this.#progress.acknowledged(position)
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

  #unsettledOf(records: readonly KafkaRecord[]): readonly KafkaRecord[] {
    if (isGapless(records) && this.#ledger.fetchedRun((records[0] as KafkaRecord).offset, records.length))
      return records
    return records.filter(({ offset }) => this.#ledger.fetched(offset))
  }
}
