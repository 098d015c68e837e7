import type { NodeAddress } from '@waybill/kafka/wire'

/** Parses `host:port`. */
export function nodeAddress(broker: string): NodeAddress {
  const colon = broker.lastIndexOf(':')
  return { host: broker.slice(0, colon), port: Number(broker.slice(colon + 1)) }
}
