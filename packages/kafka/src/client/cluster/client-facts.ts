import type { Timers, Tracer } from '@waybill/core'

/** Facts about a client that publishing needs, and that its interface does not show. */
export interface ClientFacts {
  /** The name of its cluster: `kafka://host:port`, with the client id in front of the host unless it is the default. */
  readonly clusterName: string
  /** Returns the last known number of partitions, without a request; undefined before the first description. */
  partitionCount(topic: string): number | undefined
  /** Its timers; undefined for a wrapper of a client. */
  readonly timers: Pick<Timers, 'schedule'> | undefined
  /** Makes the spans of what it sends. */
  readonly tracer: Tracer | undefined
}

const unknownFacts: ClientFacts = Object.freeze({
  clusterName: 'kafka://unknown',
  partitionCount: () => undefined,
  timers: undefined,
  tracer: undefined,
})
const factsByClient = new WeakMap<object, ClientFacts>()

/** Attaches facts to a client. */
export function setClientFacts(client: object, facts: ClientFacts): void {
  factsByClient.set(client, facts)
}

/** Returns the facts of a client from `createKafkaClient`. A wrapper of one knows no partitions. */
export function clientFactsOf(client: object): ClientFacts {
  return factsByClient.get(client) ?? unknownFacts
}
