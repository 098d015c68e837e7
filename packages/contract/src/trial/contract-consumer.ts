import { type EventCatalog, noopLogger, type ReceivedEvent, RecordHeaders, type Schemas } from '@waybill/core'

/** Code that reads events: a catalog, and handlers of its events. */
export interface ContractConsumer {
  /** Its name in findings. */
  readonly name: string
  readonly events: EventCatalog<Schemas>
  /** Handlers by event name. An event without one is decoded, and nothing else. */
  readonly handlers?: Readonly<Record<string, EventCall | undefined>> | undefined
}

/** A handler of one event. */
export type EventCall = (event: ReceivedEvent<string, unknown>, context: unknown) => unknown

/** Calls the handler of a consumer, if it has one. Rejects with what it throws, and when it is aborted. */
export async function callHandler(
  { handlers = {} }: ContractConsumer,
  { name, version, key, payload }: Pick<ReceivedEvent<string, unknown>, 'name' | 'version' | 'key' | 'payload'>,
  signal: AbortSignal,
): Promise<void> {
  const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined
  if (handler === undefined) return
  const headers = RecordHeaders.from([])
  const event: ReceivedEvent<string, unknown> = {
    id: '00000000-0000-4000-8000-000000000000',
    name,
    version,
    key,
    payload,
    occurredAt: 0,
    aggregateType: '__GLOBAL__',
    aggregateVersion: 1,
    tenantId: null,
    headers,
  }
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([Promise.resolve(handler.call(handlers, event, contextOf(headers, signal))), aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** The surroundings of a handler call: records go nowhere. */
function contextOf(headers: RecordHeaders, signal: AbortSignal): object {
  const place = { topic: 'contract-check', partition: 0, offset: 0n }
  return {
    signal,
    headers,
    attempt: 1,
    tier: 0,
    record: { ...place, key: null, value: null, headers: [], timestamp: 0n },
    original: place,
    naturalKey: 'contract-check-0-0',
    logger: noopLogger,
    publisher: { publish: () => Promise.resolve() },
    send: () => {},
    tx: undefined,
  }
}
