import { type KafkaTransport, TransportError } from '@waybill/kafka/wire'

/**
 * - ANSWER_LOST: requests arrive, and their answers do not.
 * - NEVER_SENT: requests do not arrive.
 */
export type Trouble = 'ANSWER_LOST' | 'NEVER_SENT'

/** A transport whose requests of some kinds fail while a test wants it; it counts those that did. */
export function troubledTransport(inner: KafkaTransport) {
  const troubles = new Map<string, Trouble>()
  let isCutOff = false
  let hits = 0
  const lost = (): TransportError => {
    hits++
    return new TransportError('The answer is lost.', 'UNKNOWN')
  }
  const transport: KafkaTransport = {
    async connect(node, clientId) {
      if (isCutOff) throw new TransportError('There is no way.', 'NOT_SENT')
      const connection = await inner.connect(node, clientId)
      return {
        ended: connection.ended,
        close: () => connection.close(),
        async send(api, request) {
          const trouble = troubles.get(api)
          if (isCutOff || trouble === 'NEVER_SENT') throw lost()
          const answer = await connection.send(api, request)
          if (isCutOff || trouble === 'ANSWER_LOST') throw lost()
          return answer
        },
      }
    },
  }
  return {
    transport,
    hits: () => hits,
    begin: (api: string, trouble: Trouble) => void troubles.set(api, trouble),
    end: () => troubles.clear(),
    /** Nothing gets through any more. */
    cutOff: () => {
      isCutOff = true
    },
  }
}
