/** A transport under the control of a test: it opens and answers on demand, or by a script. */

import { abortReason } from '@waybill/core/internal'
import {
  type KafkaApi,
  type KafkaConnection,
  type KafkaTransport,
  type NodeAddress,
  type RequestOf,
  type ResponseOf,
  TransportError,
} from '@waybill/kafka/wire'

/** A request that arrived. */
export interface HeldRequest {
  readonly api: KafkaApi
  readonly request: unknown
  readonly answer: (response: unknown) => void
  readonly fail: (error: Error) => void
}

/** A connection under the test's control. */
export class ScriptedConnection implements KafkaConnection {
  readonly requests: HeldRequest[] = []
  readonly ended: Promise<Error | null>
  readonly #end: (reason: Error | null) => void
  readonly #onRequest: (held: HeldRequest) => void
  isClosed = false

  constructor(onRequest: (held: HeldRequest) => void = () => {}) {
    const { promise, resolve } = Promise.withResolvers<Error | null>()
    this.ended = promise
    this.#end = resolve
    this.#onRequest = onRequest
  }

  send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> {
    if (this.isClosed) return Promise.reject(new TransportError('The connection is over.', 'NOT_SENT'))
    const { promise, resolve, reject } = Promise.withResolvers<ResponseOf<A>>()
    const held = { api, request, answer: resolve as (response: unknown) => void, fail: reject }
    this.requests.push(held)
    this.#onRequest(held)
    return promise
  }

  close(): void {
    this.endWith(null)
  }

  endWith(reason: Error | null): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#end(reason)
    for (const { fail } of this.requests) fail(new TransportError('The connection was lost.', 'UNKNOWN'))
  }
}

/** An attempt to connect. */
export interface ConnectAttempt {
  readonly node: NodeAddress
  readonly signal: AbortSignal | undefined
  open(connection?: ScriptedConnection): ScriptedConnection
  refuse(error?: Error): void
}

/** Leaves every attempt to the test. */
export class ManualTransport implements KafkaTransport {
  readonly attempts: ConnectAttempt[] = []
  /** False: an attempt that is aborted may still open, as when both happen in one turn. */
  readonly #honoursAbort: boolean

  constructor({ honoursAbort = true }: { honoursAbort?: boolean } = {}) {
    this.#honoursAbort = honoursAbort
  }

  connect(node: NodeAddress, _clientId: string, signal?: AbortSignal): Promise<KafkaConnection> {
    const { promise, resolve, reject } = Promise.withResolvers<KafkaConnection>()
    this.attempts.push({
      node,
      signal,
      open(connection = new ScriptedConnection()) {
        resolve(connection)
        return connection
      },
      refuse: (error = new TransportError('refused', 'NOT_SENT')) => reject(error),
    })
    if (this.#honoursAbort) signal?.addEventListener('abort', () => reject(abortReason(signal)), { once: true })
    return promise
  }

  attempt(index: number): ConnectAttempt {
    const attempt = this.attempts[index]
    if (attempt === undefined) throw new Error(`There were ${this.attempts.length} attempts to connect.`)
    return attempt
  }
}

/** The reaction of a scripted node to a request: a response, silence, or a lost connection. */
export type Reaction = { readonly answer: unknown } | 'SWALLOW' | 'CUT'

/** Nodes that act by a script: null refuses the connection. */
export class ScriptTransport implements KafkaTransport {
  readonly asked: { readonly address: string; readonly api: KafkaApi; readonly request: unknown }[] = []
  readonly #react: (address: string, api: KafkaApi, request: unknown) => Reaction | null
  readonly #open: [address: string, connection: ScriptedConnection][] = []

  constructor(react: (address: string, api: KafkaApi, request: unknown) => Reaction | null) {
    this.#react = react
  }

  async connect({ host, port }: NodeAddress): Promise<KafkaConnection> {
    const address = `${host}:${port}`
    if (this.#react(address, 'Metadata', null) === null) throw new TransportError('refused', 'NOT_SENT')
    const connection = new ScriptedConnection(({ api, request, answer }) => {
      this.asked.push({ address, api, request })
      const reaction = this.#react(address, api, request)
      if (reaction === 'CUT' || reaction === null) connection.endWith(new Error('reset'))
      else if (reaction !== 'SWALLOW') answer(reaction.answer)
    })
    this.#open.push([address, connection])
    return connection
  }

  /** Ends the connections to a node. */
  cut(address: string): void {
    for (const [to, connection] of this.#open) if (to === address) connection.endWith(new Error('reset'))
  }
}
