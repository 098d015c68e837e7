import type { KafkaApi, KafkaTransport, RequestOf, ResponseOf } from '@waybill/kafka/wire'

/** Requests that reached the coordinator. */
export interface CommitCount {
  sent: number
}

/** Returns a transport that counts commits. */
export function withCountedCommits(transport: KafkaTransport, count: CommitCount): KafkaTransport {
  return {
    async connect(node, clientId, signal) {
      const connection = await transport.connect(node, clientId, signal)
      return {
        ended: connection.ended,
        send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> {
          if (api === 'OffsetCommit') count.sent++
          return connection.send(api, request)
        },
        close: () => connection.close(),
      }
    },
  }
}
