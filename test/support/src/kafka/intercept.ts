import type { KafkaApi, KafkaTransport, RequestOf, ResponseOf } from '@waybill/kafka/wire'

/** Observes every request between a client and a cluster, and may answer it instead of the cluster. */
export type Interceptor = <A extends KafkaApi>(
  api: A,
  request: RequestOf<A>,
  pass: () => Promise<ResponseOf<A>>,
) => Promise<ResponseOf<A>>

/** Returns a transport with an interceptor on each of its connections. */
export function intercepted(transport: KafkaTransport, intercept: Interceptor): KafkaTransport {
  return {
    async connect(node, clientId, signal) {
      const connection = await transport.connect(node, clientId, signal)
      return {
        ended: connection.ended,
        send: (api, request) => intercept(api, request, () => connection.send(api, request)),
        close: () => connection.close(),
      }
    },
  }
}

/** Requests of one kind in the order in which they were sent. */
export class RequestLog {
  readonly #entries: { api: KafkaApi; request: RequestOf<KafkaApi> }[] = []

  readonly watch: Interceptor = (api, request, pass) => {
    this.#entries.push({ api, request })
    return pass()
  }

  of<A extends KafkaApi>(api: A): RequestOf<A>[] {
    return this.#entries.flatMap((entry) => (entry.api === api ? [entry.request as RequestOf<A>] : []))
  }
}
