/**
 * The spans of deliveries. Whether a record needs one is decided by a byte of its headers; nothing is created for those
 * that need none.
 */

import { Buffer } from 'node:buffer'
import type { RecordHeaders, Runtime, Tracer } from '@waybill/core'
import {
  cloudEventsHeader,
  isSampledFlag,
  type ProcessEnd,
  type ProcessScope,
  type ProcessSpan,
  traceHeader,
} from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { RecordView } from '@waybill/kafka/wire'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { headersOf, unreadable } from '../records/record-headers.ts'
import type { DeliveryDeps } from './delivery-deps.ts'
import type { Outcome } from './outcome.ts'
import type { HandlerCall, Ready } from './stage-values.ts'
import type { Work } from './work.ts'

/** The names of a creation context, in the order they are looked for. */
const contextNames = [traceHeader.traceparent, cloudEventsHeader.traceparent] as const
const contextBytes = contextNames.map((name) => Buffer.from(name))
/** Records of a batch whose contexts become links. */
const mostLinks = 128

/** Makes the spans of one binding. */
export class DeliverySpans {
  readonly #tracer: Tracer
  readonly #binding: ResolvedBinding
  readonly #clock: Runtime['clock']

  /** Returns undefined without a tracer. */
  static of({ binding, runtime }: Pick<DeliveryDeps, 'binding' | 'runtime'>): DeliverySpans | undefined {
    const { tracer, clock } = runtime
    return tracer === undefined ? undefined : new DeliverySpans(tracer, binding, clock)
  }

  private constructor(tracer: Tracer, binding: ResolvedBinding, clock: Runtime['clock']) {
    this.#tracer = tracer
    this.#binding = binding
    this.#clock = clock
  }

  /** Begins the span of a delivery. Undefined: its context is not sampled, or its handler is not called. */
  begin(work: Work, ready: Ready): ProcessSpan | undefined {
    work.span = undefined
    if (ready.kind !== 'RUN' && ready.kind !== 'POISON') return undefined
    const call = ready.kind === 'RUN' ? ready : undefined
    work.eventId = call?.eventId
    if (!this.#isWanted(call?.records ?? [work.record])) return undefined
    return (work.span = this.#tracer.process(this.#scopeOf(work, call)))
  }

  /** Ends the span of a delivery, and returns the outcome with the context that the next attempt links to. */
  end(work: Work, outcome: Outcome): Outcome {
    const { span } = work
    const isFailed = outcome.kind === 'RETRY' || outcome.kind === 'DEAD_LETTER'
    if (span === undefined && !isFailed) return outcome
    const end = endOf(outcome)
    span?.end(end)
    const traceparent =
      span?.traceparent ?? this.#tracer.failed(this.#scopeOf(work, undefined), this.#startOf(work), end)
    if (!traceparent || !('failure' in outcome) || outcome.failure === undefined) return outcome
    return { ...outcome, failure: { ...outcome.failure, traceparent } }
  }

  #startOf(work: Work): number {
    const startedAt = work.startedAt ?? work.handedOverAt
    return Math.round(this.#clock.now() - (this.#clock.monotonic() - startedAt))
  }

  #isWanted(records: readonly KafkaRecord[]): boolean {
    if (this.#tracer.spans === 'ALL') return true
    for (let index = 0; index < records.length && index < mostLinks; index++)
      if (isSampledOrNew(records[index] as KafkaRecord)) return true
    return false
  }

  #scopeOf(work: Work, call: HandlerCall | undefined): ProcessScope {
    const { record, trail, kind, tier, groupId, consumerInstance, eventId } = work
    const { topic, partition, offset, key, value } = record
    const { name, cluster } = this.#binding
    const headers = headersOf(record)
    const records = call?.records ?? []
    return {
      binding: name,
      cluster,
      groupId,
      consumerInstance,
      topic,
      partition,
      offset,
      key,
      isTombstone: value === null,
      tier,
      attempt: trail.attempt,
      replayCount: trail.replayCount,
      operation: trail.replayOperation,
      original: kind === 'SOURCE' && trail.replayCount === 0 ? undefined : trail.original,
      eventId,
      traceparent: contextIn(headers),
      tracestate: headers.text(traceHeader.tracestate) ?? headers.text(cloudEventsHeader.tracestate),
      baggage: headers.text(traceHeader.baggage),
      attemptTraceparent: trail.attemptTraceparent,
      batch: records.length > 1 ? { count: records.length, traceparents: contextsOf(records) } : undefined,
    }
  }
}

function contextIn(headers: RecordHeaders): string | undefined {
  return headers.text(contextNames[0]) ?? headers.text(contextNames[1])
}

function contextsOf(records: readonly KafkaRecord[]): readonly string[] {
  return records.slice(0, mostLinks).flatMap((record) => contextIn(headersOf(record)) ?? [])
}

function endOf(outcome: Outcome): ProcessEnd {
  const error = 'failure' in outcome ? outcome.failure?.error : undefined
  return { outcome: outcome.kind, error, reason: outcome.kind === 'DEAD_LETTER' ? outcome.reason : undefined }
}

/** Returns true for a sampled context, or none. */
function isSampledOrNew(record: KafkaRecord): boolean {
  const digit = lastDigitOf(record)
  return digit < 0 || isSampledFlag(digit)
}

/** Returns the last byte of the context of a record; -1 without one. */
function lastDigitOf(record: KafkaRecord): number {
  try {
    if (record instanceof RecordView) {
      for (const name of contextBytes) {
        const digit = record.lastByteOf(name)
        if (digit >= 0) return digit
      }
      return -1
    }
    return contextIn(headersOf(record))?.charCodeAt(54) ?? -1
  } catch (error) {
    return unreadable(error, -1)
  }
}
