/** Tells everybody of a loss, once, and keeps it until it is acknowledged. */

import { type Runtime } from '@waybill/core'
import { engineChannel } from '@waybill/core/internal'
import type { TopicPartition } from '@waybill/kafka'
import type { PositionLoss } from '@waybill/kafka/internal'
import type { AuditRow, RecordLoss } from '../api/connector-report.ts'
import { metricName } from '../binding/binding-telemetry.ts'
import { describePositionLoss, LossLedger } from './loss-ledger.ts'
import type { Stranded } from './stranded-tiers.ts'

const lossFound = engineChannel('loss:found')

/** See the file's comment. */
export class LossReport {
  readonly ledger: LossLedger = new LossLedger()
  readonly #runtime: Runtime
  /** What an audit found and somebody has read, by its partition: it stays true, and is no news. */
  readonly #readAudits = new Map<string, Set<string>>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** A consumer goes on elsewhere than where it should have. */
  positionLost(binding: string, loss: PositionLoss): void {
    const { topic, partition } = loss
    this.#report({ kind: 'LOST', binding, topic, partition, ...describePositionLoss(loss) })
  }

  /** What a group has committed does not say how it came about. */
  unaccounted(binding: string, { topic, partition }: TopicPartition, problem: string): void {
    const what = `what became of earlier records cannot be told: ${problem}.`
    this.#report({ kind: 'UNACCOUNTED', binding, topic, partition, what, records: undefined })
  }

  /** Records of a former tier that nobody reads. */
  stranded(binding: string, { topic, partition, groupId, records }: Stranded): void {
    const what =
      `up to ${records} records wait here for group ${groupId}, and with the options of today nobody reads them: run the ` +
      'binding with those of yesterday until they are handled, or bring them back to the source by hand.'
    this.#report({ kind: 'UNACCOUNTED', binding, topic, partition, what, records })
  }

  /** What an audit found. */
  audited({ binding, topic, partition, committed, problem, missing }: AuditRow): void {
    const at = { binding, topic, partition }
    if (missing > 0n) {
      const what = `the log begins ${missing} offsets behind ${committed}, which is to be read next.`
      this.#report({ ...at, kind: 'LOST', what, records: missing })
    }
    const what = `what is committed cannot be accounted for: ${problem}.`
    if (problem === undefined) this.#readAudits.delete(placeKey(at))
    else if (this.#readAudits.get(placeKey(at))?.has(what) !== true)
      this.#report({ ...at, kind: 'UNACCOUNTED', what, records: undefined })
  }

  acknowledge(binding: string, partition?: TopicPartition): readonly RecordLoss[] {
    const acknowledged = this.ledger.acknowledge(binding, partition)
    for (const loss of acknowledged) this.#remember(loss)
    if (acknowledged.length > 0)
      this.#runtime.logger.warn({ binding, losses: acknowledged.length }, 'Losses were acknowledged')
    return acknowledged
  }

  /** The binding is gone: one of the same name begins without what was found and read before. */
  forget(binding: string): void {
    for (const loss of this.acknowledge(binding)) this.#readAudits.delete(placeKey(loss))
  }

  #remember(loss: RecordLoss): void {
    const key = placeKey(loss)
    this.#readAudits.set(key, (this.#readAudits.get(key) ?? new Set()).add(loss.what))
  }

  #report(found: Omit<RecordLoss, 'atMs'>): void {
    if (!this.ledger.add({ ...found, atMs: this.#runtime.clock.now() })) return
    const { binding, topic, partition, kind, what, records } = found
    const { logger, metrics } = this.#runtime
    logger.error({ binding, topic, partition, kind }, what)
    if (kind === 'LOST') metrics.counter(metricName.lost, { binding }, Number(records ?? 1n))
    else metrics.counter(metricName.unaccounted, { binding }, 1)
    if (lossFound.hasSubscribers) lossFound.publish({ binding, topic, partition, kind, what })
  }
}

function placeKey({ binding, topic, partition }: Pick<RecordLoss, 'binding' | 'topic' | 'partition'>): string {
  return JSON.stringify([binding, topic, partition])
}
