/** Reports each loss once, to log, metrics and diagnostics channel, and keeps it until it is acknowledged. */

import { type Runtime } from '@waybill/core'
import { engineChannel } from '@waybill/core/internal'
import type { TopicPartition } from '@waybill/kafka'
import type { PositionLoss } from '@waybill/kafka/internal'
import type { AuditRow, RecordLoss } from '../api/connector-report.ts'
import { bindingLabels, namesOfLabel } from '../binding/binding-label.ts'
import { metricName } from '../binding/binding-telemetry.ts'
import { describePositionLoss, LossLedger } from './loss-ledger.ts'
import type { Stranded } from './stranded-tiers.ts'

const lossFound = engineChannel('loss:found')

/** Reports and keeps the losses of a connector. */
export class LossReport {
  readonly ledger: LossLedger = new LossLedger()
  readonly #runtime: Runtime
  /** The acknowledged findings of audits, by partition: they stay true, and are not reported again. */
  readonly #readAudits = new Map<string, Set<string>>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** Reports that a consumer continues at another offset than its own. */
  positionLost(binding: string, loss: PositionLoss): void {
    const { topic, partition } = loss
    this.#report({ kind: 'LOST', binding, topic, partition, ...describePositionLoss(loss) })
  }

  /** Reports a commit without a readable ledger. */
  unaccounted(binding: string, { topic, partition }: TopicPartition, problem: string): void {
    const what = `the outcome of earlier records is unknown: ${problem}.`
    this.#report({ kind: 'UNACCOUNTED', binding, topic, partition, what, records: undefined })
  }

  /** Reports records of a former tier that the binding no longer reads. */
  stranded(binding: string, { topic, partition, groupId, records }: Stranded): void {
    const what =
      `up to ${records} records wait here for group ${groupId}, and the current options do not read them: run the ` +
      'binding with its previous options until they are handled, or copy them back to the source topic.'
    this.#report({ kind: 'UNACCOUNTED', binding, topic, partition, what, records })
  }

  /** Reports the problems of an audit row. */
  audited({ binding, topic, partition, committed, problem, missing }: AuditRow): void {
    const at = { binding, topic, partition }
    if (missing > 0n) {
      const what = `the log starts ${missing} offsets after ${committed}, the next offset to read.`
      this.#report({ ...at, kind: 'LOST', what, records: missing })
    }
    const what = `the commit cannot be accounted for: ${problem}.`
    if (problem === undefined) this.#readAudits.delete(placeKey(at))
    else if (this.#readAudits.get(placeKey(at))?.has(what) !== true)
      this.#report({ ...at, kind: 'UNACCOUNTED', what, records: undefined })
  }

  acknowledge(binding: string, partition?: TopicPartition): readonly RecordLoss[] {
    const acknowledged = this.ledger.acknowledge(binding, partition)
    for (const loss of acknowledged) this.#remember(loss)
    if (acknowledged.length > 0)
      this.#runtime.logger.warn({ binding, losses: acknowledged.length }, 'Losses acknowledged')
    return acknowledged
  }

  /** Removes all losses of a destroyed binding, so that a new one of the same name starts without them. */
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
    const labels = bindingLabels(namesOfLabel(binding))
    logger.error(
      { binding, topic, partition, kind, what },
      kind === 'LOST' ? 'Records lost' : 'Records unaccounted for',
    )
    if (kind === 'LOST') metrics.counter(metricName.lost, labels, Number(records ?? 1n))
    else metrics.counter(metricName.unaccounted, labels, 1)
    if (lossFound.hasSubscribers) lossFound.publish({ binding, topic, partition, kind, what })
  }
}

function placeKey({ binding, topic, partition }: Pick<RecordLoss, 'binding' | 'topic' | 'partition'>): string {
  return JSON.stringify([binding, topic, partition])
}
