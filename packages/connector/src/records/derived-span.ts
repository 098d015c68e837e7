import type { Tracer } from '@waybill/core'
import { attemptTraceHeader, type SendSpan, traceHeader } from '@waybill/core/internal'
import type { OutRecord, SendResult } from '@waybill/kafka'
import { headersOf } from './record-headers.ts'

/** Sends a retry or dead letter record within a span, if the delivery that failed had one. */
export async function withinSendSpan(
  tracer: Tracer,
  record: OutRecord,
  send: () => Promise<SendResult>,
): Promise<SendResult> {
  const span = sendSpanOf(tracer, record)
  if (span === undefined) return send()
  try {
    const result = await span.run(send)
    span.sent(result)
    return result
  } catch (error) {
    span.failed(error)
    throw error
  }
}

function sendSpanOf(tracer: Tracer, { topic, headers: given }: OutRecord): SendSpan | undefined {
  const headers = headersOf({ headers: given ?? [] })
  const parent = headers.text(attemptTraceHeader.traceparent)
  if (parent === undefined) return undefined
  const traceparent = headers.text(traceHeader.traceparent)
  return tracer.send({ topic, parent, traceparent, tracestate: headers.text(traceHeader.tracestate) })
}
