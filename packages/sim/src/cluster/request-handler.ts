import type { KafkaApi, RequestOf, ResponseOf } from '@waybill/kafka/wire'

/** Where a request came from and which node got it. */
export interface Call {
  readonly node: number
  /** The process, by the name its transport was made with. */
  readonly client: string
  readonly clientId: string
}

/** Answers one kind of request. A promise is an answer that waits, and holds up its connection meanwhile. */
export type RequestHandler<A extends KafkaApi> = (
  request: RequestOf<A>,
  call: Call,
) => ResponseOf<A> | Promise<ResponseOf<A>>

/** A handler for each of these requests. */
export type RequestHandlers<A extends KafkaApi = KafkaApi> = { readonly [K in A]: RequestHandler<K> }
