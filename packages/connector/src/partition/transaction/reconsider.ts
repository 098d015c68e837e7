/** What becomes of records whose transaction was refused because of something that they write. */

import type { Runtime } from '@waybill/core'
import type { KafkaError } from '@waybill/kafka'
import type { ResolvedBinding } from '../../binding/resolved-binding.ts'
import type { Delivery } from '../../delivery/delivery.ts'
import type { DeliveryScope } from '../../delivery/delivery-deps.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import type { PublishWatch } from '../../records/derived-publisher.ts'
import { DerivedPublishError } from '../../records/record-errors.ts'
import { type DecidedRecord, decideRecord, decideSmallerRecord } from './decided-record.ts'
import { refusedOutputs } from './output-refused-error.ts'

/** What a second look needs. */
export interface Reconsidering {
  readonly binding: ResolvedBinding
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'logger'>
  /** Fails at once for a record whose outputs were refused: what follows from that is decided as for any failure. */
  readonly delivery: Pick<Delivery, 'deliver'>
  readonly scope: DeliveryScope
  /** Is told of a retry or dead letter record that nobody takes. */
  readonly watch: Pick<PublishWatch, 'troubled'>
}

/** What is written now, and the record that stays where it is, if one does: all behind it stay too. */
export interface Reconsidered {
  readonly kept: readonly DecidedRecord[]
  readonly waiting: { readonly work: Work; readonly outcome: Extract<Outcome, { kind: 'PAUSE' }> } | undefined
}

/** A dead letter topic that takes nothing is asked again after this. */
const askAgainMs = 1_000

/**
 * An output that its topic refuses is a failure of its record. A retry or dead letter record that is refused is made
 * smaller; where that does not help, the same is written again later: there is nothing else to do with it.
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
    runtime.logger.warn({ topic, reason: refusal.message }, 'A record was too large and is written with less')
    return smaller
  }
  watch.troubled(new DerivedPublishError(topic, refusal))
  // Over early when the partition is.
  await runtime.timers.sleep(askAgainMs, scope.handling).catch(() => {})
  return undefined
}
