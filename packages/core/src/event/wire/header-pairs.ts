import { eventHeader, traceHeader } from '../../header/header-names.ts'
import type { EventEnvelope } from '../envelope.ts'
import type { HeaderText } from '../envelope-headers.ts'

/** The version of the payload's schema, as text. */
export function eventVersionText({ headers }: EventEnvelope): string {
  return headers[eventHeader.eventVersion] ?? '1'
}

/** Returns aggregate, tenant and the event's own headers, for formats whose value does not carry them. */
export function contextPairs(event: EventEnvelope): HeaderText[] {
  const pairs: HeaderText[] = [[eventHeader.aggregateType, event.aggregateType]]
  const aggregateVersion = event.headers[eventHeader.aggregateVersion]
  if (aggregateVersion !== undefined) pairs.push([eventHeader.aggregateVersion, aggregateVersion])
  if (event.tenantId !== null) pairs.push([eventHeader.tenantId, event.tenantId])
  appendOwnPairs(pairs, event)
  return pairs
}

/** Appends the event's own headers, the trace first; without the versions, which each format writes in its own way. */
export function appendOwnPairs(
  pairs: HeaderText[],
  { headers }: EventEnvelope,
  isLeftOut: (name: string) => boolean = () => false,
): void {
  const traceparent = headers[traceHeader.traceparent]
  if (traceparent !== undefined) pairs.push([traceHeader.traceparent, traceparent])
  for (const [name, value] of Object.entries(headers)) {
    const isWritten =
      name === eventHeader.eventVersion || name === eventHeader.aggregateVersion || name === traceHeader.traceparent
    if (!isWritten && !isLeftOut(name)) pairs.push([name, value])
  }
}
