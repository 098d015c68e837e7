/** Decides about records whose transaction was refused because of a record that it writes. */

import type { Runtime } from '@waybill/core'
import type { KafkaError } from '@waybill/kafka'
import type { ResolvedBinding } from '../../binding/resolved-binding.ts'
import type { Delivery } from '../../delivery/delivery.ts'
import type { DeliveryScope } from '../../delivery/delivery-scope.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import type { PublishWatch } from '../../records/derived-publisher.ts'
import { DerivedPublishError } from '../../records/record-errors.ts'
import { type DecidedRecord, decideRecord, decideSmallerRecord } from './decided-record.ts'
import { refusedOutputs } from './output-refused-error.ts'

/** The collaborators of {@link reconsider}. */
export interface Reconsidering {
  readonly binding: ResolvedBinding
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'logger'>
  /** Fails at once for a record whose outputs were refused, and decides as for any failure. */
  readonly delivery: Pick<Delivery, 'deliver'>
  readonly scope: DeliveryScope
  /** Observes a retry or dead letter record that its topic refuses. */
  readonly watch: Pick<PublishWatch, 'troubled'>
}

/** The records to write now, and the record that stays where it is, if one does: all behind it stay too. */
export interface Reconsidered {
  readonly kept: readonly DecidedRecord[]
  readonly waiting: { readonly work: Work; readonly outcome: Extract<Outcome, { kind: 'PAUSE' }> } | undefined
}

/** The wait before a refused dead letter is written again. */
const askAgainMs = 1_000

/**
 * Decides again: a refused output is a failure of its record. A refused retry or dead letter record is made smaller; if
 * that does not help, it is written again later.
 */
export async function reconsider(
  parts: readonly DecidedRecord[],
  refusals: ReadonlyMap<number, KafkaError>,
  deps: Reconsidering,
): Promise<Reconsidered> {
  const { binding, runtime } = deps
  const kept: DecidedRecord[] = []
  for (const [index, part] of parts.entries()) {
    const refusal = refusals.get(index)
    if (refusal === undefined) {
      kept.push(part)
      continue
    }
    const { work } = part
    if (part.as !== 'OK') {
      kept.push((await replacement(part, refusal, deps)) ?? part)
      continue
    }
    work.outputs?.refuse(refusedOutputs(part.records, refusal))
    const outcome = await deps.delivery.deliver(work, deps.scope)
    if (outcome.kind === 'PAUSE') return { kept, waiting: { work, outcome } }
    kept.push(decideRecord(work, outcome, binding, runtime.clock.now()))
  }
  return { kept, waiting: undefined }
}

async function replacement(
  part: DecidedRecord,
  refusal: KafkaError,
  { binding, runtime, scope, watch }: Reconsidering,
): Promise<DecidedRecord | undefined> {
  const [record] = part.records
  const topic = record?.topic ?? ''
  const smaller = decideSmallerRecord(part, refusal, binding, runtime.clock.now())
  if (smaller !== undefined) {
    runtime.logger.warn({ topic, reason: refusal.message }, 'Record too large, written with less content')
    return smaller
  }
  watch.troubled(new DerivedPublishError(topic, refusal))
  // Ends early with the partition.
  await runtime.timers.sleep(askAgainMs, scope.handling).catch(() => {})
  return undefined
}
