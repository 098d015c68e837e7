import type { EventEnvelope, Tracer } from '@waybill/core'
import { type CreateSpan, restoreEnvelope, traceHeader } from '@waybill/core/internal'

/** The spans of the events of one write. An event that brings its own context keeps it and gets none. */
export class CreationSpans {
  /** The events with the headers of their spans. */
  readonly events: readonly EventEnvelope[]
  readonly #spans: CreateSpan[] = []

  constructor(tracer: Tracer, events: readonly EventEnvelope[], outbox: string) {
    this.events = events.map((event) => {
      const { eventId, eventType, headers } = event
      if (headers[traceHeader.traceparent] !== undefined) return event
      const span = tracer.create({ eventId, eventType, outbox })
      this.#spans.push(span)
      return restoreEnvelope({ ...event, headers: { ...span.headers, ...headers } })
    })
  }

  /** @param error - the reason why nothing was written */
  end(error?: unknown): void {
    for (const span of this.#spans) span.end(error)
  }
}
