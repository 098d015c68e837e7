import {
  type KafkaApi,
  type KafkaConnection,
  type KafkaTransport,
  type RequestOf,
  type ResponseOf,
  TransportError,
} from '@waybill/kafka/wire'

/** Counts the requests of a transport and loses responses: the broker acts, and the connection ends. */
export interface WatchedTransport extends KafkaTransport {
  readonly requests: readonly KafkaApi[]
  readonly lostCount: number
  /** Loses the answers to that share of requests. */
  lose(api: KafkaApi, rate: number): void
  /** Calls back with each request before it is sent. */
  onRequest: (<A extends KafkaApi>(api: A, request: RequestOf<A>) => void | Promise<void>) | undefined
}

/** Watches any transport. */
export function watchTransport(transport: KafkaTransport, random: () => number): WatchedTransport {
  const requests: KafkaApi[] = []
  const rates = new Map<KafkaApi, number>()
  let lostCount = 0

  const watched: WatchedTransport = {
    requests,
    onRequest: undefined,
    get lostCount() {
      return lostCount
    },
    lose: (api, rate) => rates.set(api, rate),
    async connect(node, clientId, signal): Promise<KafkaConnection> {
      const connection = await transport.connect(node, clientId, signal)
      return {
        ended: connection.ended,
        close: () => connection.close(),
        async send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> {
          requests.push(api)
          await watched.onRequest?.(api, request)
          const response = await connection.send(api, request)
          if (random() >= (rates.get(api) ?? 0)) return response
          lostCount++
          connection.close()
          throw new TransportError('The answer was lost.', 'UNKNOWN')
        },
      }
    },
  }
  return watched
}
