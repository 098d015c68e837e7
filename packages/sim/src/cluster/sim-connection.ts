/**
 * One connection to a simulated node.
 *
 *     send ─▶ on its way ─▶ at the broker ─▶ served, one at a time ─▶ answer on its way ─▶ resolved
 *
 * Order is kept on both ways. When the client closes, what it has sent still arrives and is served, as bytes that left a
 * socket are: only the answers are lost. When the network or the node ends the connection, what has not arrived is gone.
 */

import type { Runtime } from '@waybill/core'
import {
  type KafkaApi,
  type KafkaConnection,
  type RequestOf,
  type ResponseOf,
  TransportError,
} from '@waybill/kafka/wire'
import type { Call } from './request-handler.ts'

/** The cluster side of a connection. */
export interface ConnectionHost {
  readonly runtime: Runtime
  /** How long the next request or answer is on its way. */
  latencyMs(): number
  /** Serves a request. Null when the connection must end instead of answering. */
  serve<A extends KafkaApi>(api: A, request: RequestOf<A>, call: Call): Promise<ResponseOf<A> | null>
  /** Nothing more will happen on it. */
  over(connection: SimConnection): void
}

interface Exchange {
  readonly api: KafkaApi
  readonly request: RequestOf<KafkaApi>
  readonly resolve: (response: ResponseOf<KafkaApi>) => void
  readonly reject: (error: Error) => void
  response: ResponseOf<KafkaApi> | null
}

type End = 'OPEN' | 'CLOSED_BY_CLIENT' | 'BROKEN'

/** A connection of a client to a node. */
export class SimConnection implements KafkaConnection {
  readonly call: Call
  readonly ended: Promise<Error | null>
  readonly #host: ConnectionHost
  readonly #tellEnd: (reason: Error | null) => void
  /** Sent, and neither answered nor given up by the client. */
  readonly #open = new Set<Exchange>()
  readonly #onTheirWay: Exchange[] = []
  readonly #arrived: Exchange[] = []
  readonly #answers: Exchange[] = []
  #isServing = false
  #end: End = 'OPEN'

  constructor(host: ConnectionHost, call: Call) {
    this.#host = host
    this.call = call
    const { promise, resolve } = Promise.withResolvers<Error | null>()
    this.ended = promise
    this.#tellEnd = resolve
  }

  send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> {
    if (this.#end !== 'OPEN')
      return Promise.reject(new TransportError(`The connection to node ${this.call.node} is over.`, 'NOT_SENT'))
    return new Promise<ResponseOf<A>>((resolve, reject) => {
      const exchange: Exchange = {
        api,
        request,
        reject,
        response: null,
        resolve,
      }
      this.#open.add(exchange)
      this.#onTheirWay.push(exchange)
      this.#travel(() => this.#arrive())
    })
  }

  close(): void {
    if (this.#end !== 'OPEN') return
    this.#end = 'CLOSED_BY_CLIENT'
    this.#giveUp(new TransportError(`The connection to node ${this.call.node} was closed.`, 'UNKNOWN'))
    this.#tellEnd(null)
    this.#retireIfIdle()
  }

  /** The network or the node ends it. */
  break(why: string): void {
    if (this.#end === 'BROKEN') return
    this.#end = 'BROKEN'
    for (const queue of [this.#onTheirWay, this.#arrived, this.#answers]) queue.length = 0
    this.#giveUp(new TransportError(why, 'UNKNOWN'))
    this.#tellEnd(new TransportError(why, 'UNKNOWN'))
    this.#host.over(this)
  }

  #giveUp(error: TransportError): void {
    for (const { reject } of this.#open) reject(error)
    this.#open.clear()
  }

  /** Calls `there` after a while. Which exchange it is about is decided there, by order: two ways may cross in time. */
  #travel(there: () => void): void {
    void this.#host.runtime.timers.sleep(this.#host.latencyMs()).then(there)
  }

  #arrive(): void {
    const exchange = this.#onTheirWay.shift()
    if (exchange === undefined) return
    this.#arrived.push(exchange)
    if (!this.#isServing) void this.#serve()
  }

  async #serve(): Promise<void> {
    this.#isServing = true
    for (let exchange = this.#arrived.shift(); exchange !== undefined; exchange = this.#arrived.shift()) {
      // oxlint-disable-next-line no-await-in-loop -- A broker serves a connection's requests one after another.
      const response = await this.#host.serve(exchange.api, exchange.request, this.call)
      if (this.#end === 'BROKEN') return
      if (response === null) return this.break(`Node ${this.call.node} ended the connection.`)
      exchange.response = response
      this.#answers.push(exchange)
      this.#travel(() => this.#deliver())
    }
    this.#isServing = false
    this.#retireIfIdle()
  }

  #deliver(): void {
    const exchange = this.#answers.shift()
    if (exchange === undefined || !this.#open.delete(exchange)) return
    exchange.resolve(exchange.response as ResponseOf<KafkaApi>)
  }

  #retireIfIdle(): void {
    const isIdle = !this.#isServing && this.#onTheirWay.length === 0
    if (this.#end === 'CLOSED_BY_CLIENT' && isIdle) this.#host.over(this)
  }
}
