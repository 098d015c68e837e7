import { StateError } from '@waybill/core'
import {
  type KafkaApi,
  type KafkaConnection,
  type KafkaTransport,
  type NodeAddress,
  type RequestOf,
  type ResponseOf,
  TransportError,
} from '@waybill/kafka/wire'
import { type ChildMessage, heardFailure, type ParentMessage, pack, unpack } from './channel-message.ts'

/** The child's end of the channel, as `process` has it. */
export interface ParentChannel {
  send?(message: object, handle: undefined, options: undefined, callback: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect', listener: () => void): unknown
  readonly channel?: { ref(): void; unref(): void } | null | undefined
}

/**
 * Connects a forked child to the simulated cluster that its parent serves with `cluster.serve(child)`. The cluster outlives the
 * child, so a `kill -9` of the child shows what a crash leaves behind.
 *
 * @throws StateError in a process that was not forked with a channel to its parent
 */
export function parentTransport(parent: ParentChannel = process): KafkaTransport {
  if (parent.send === undefined)
    throw new StateError('This process has no channel to a parent that could hold the cluster.', {
      hint: 'Start it with fork() of node:child_process, and call cluster.serve(child) in the parent.',
    })
  return new ParentTransport(parent)
}

interface Waiting {
  resolve(response: ResponseOf<KafkaApi> | null): void
  reject(error: Error): void
}

class ParentTransport implements KafkaTransport {
  readonly #parent: ParentChannel
  readonly #waiting = new Map<number, Waiting>()
  readonly #connections = new Map<number, ChildConnection>()
  #lastId = 0
  #isGone = false

  constructor(parent: ParentChannel) {
    this.#parent = parent
    parent.on('message', (received) => this.#hear(unpack(received) as ParentMessage | undefined))
    parent.once('disconnect', () => this.#parentGone())
    this.#holdOpen()
  }

  async connect(node: NodeAddress, clientId: string, signal?: AbortSignal): Promise<KafkaConnection> {
    if (signal?.aborted === true) throw notOpened(signal.reason)
    const id = ++this.#lastId
    const giveUp = (): void => {
      this.#settle(id)?.reject(notOpened(signal?.reason))
      this.#tell({ kind: 'close', connection: id })
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    try {
      await this.#ask({ kind: 'connect', id, node, clientId })
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
    const connection = new ChildConnection({
      send: (api, request) => this.#ask({ kind: 'send', id: ++this.#lastId, connection: id, api, request }),
      close: () => {
        this.#connections.delete(id)
        this.#holdOpen()
        this.#tell({ kind: 'close', connection: id })
      },
    })
    this.#connections.set(id, connection)
    this.#holdOpen()
    return connection
  }

  #ask(message: Extract<ChildMessage, { id: number }>): Promise<ResponseOf<KafkaApi> | null> {
    const { promise, resolve, reject } = Promise.withResolvers<ResponseOf<KafkaApi> | null>()
    this.#waiting.set(message.id, { resolve, reject })
    this.#holdOpen()
    this.#tell(message, (error) => this.#settle(message.id)?.reject(parentGone('NOT_SENT', error)))
    return promise
  }

  #tell(message: ChildMessage, failed: (error: Error) => void = () => {}): void {
    if (this.#isGone) return failed(new StateError('The channel to the parent is closed.'))
    this.#parent.send?.(pack(message), undefined, undefined, (error) => {
      if (error !== null) failed(error)
    })
  }

  #hear(message: ParentMessage | undefined): void {
    if (message?.kind === 'answer') this.#settle(message.id)?.resolve(message.response)
    else if (message?.kind === 'failure') this.#settle(message.id)?.reject(heardFailure(message.failure))
    else if (message?.kind === 'ended') {
      const connection = this.#connections.get(message.connection)
      this.#connections.delete(message.connection)
      this.#holdOpen()
      connection?.end(message.reason === null ? null : heardFailure(message.reason))
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    this.#holdOpen()
    return waiting
  }

  #parentGone(): void {
    this.#isGone = true
    for (const connection of this.#connections.values()) connection.end(parentGone('UNKNOWN'))
    for (const waiting of this.#waiting.values()) waiting.reject(parentGone('UNKNOWN'))
    this.#connections.clear()
    this.#waiting.clear()
  }

  /** Keeps the process alive while connections exist, like sockets. */
  #holdOpen(): void {
    if (this.#waiting.size + this.#connections.size > 0) this.#parent.channel?.ref()
    else this.#parent.channel?.unref()
  }
}

interface Line {
  send(api: KafkaApi, request: RequestOf<KafkaApi>): Promise<ResponseOf<KafkaApi> | null>
  close(): void
}

class ChildConnection implements KafkaConnection {
  readonly ended: Promise<Error | null>
  readonly #line: Line
  readonly #tellEnd: (reason: Error | null) => void
  /** How to end the requests that wait for an answer. */
  readonly #giveUps = new Set<(error: Error) => void>()
  #end: { readonly reason: Error | null } | undefined

  constructor(line: Line) {
    this.#line = line
    const { promise, resolve } = Promise.withResolvers<Error | null>()
    this.ended = promise
    this.#tellEnd = resolve
  }

  async send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> {
    if (this.#end !== undefined)
      throw new TransportError('The connection is over.', 'NOT_SENT', { cause: this.#end.reason })
    const { promise: cut, reject: giveUp } = Promise.withResolvers<never>()
    this.#giveUps.add(giveUp)
    try {
      return (await Promise.race([this.#line.send(api, request), cut])) as ResponseOf<A>
    } finally {
      this.#giveUps.delete(giveUp)
    }
  }

  close(): void {
    if (this.#end !== undefined) return
    this.#line.close()
    this.end(null)
  }

  end(reason: Error | null): void {
    if (this.#end !== undefined) return
    this.#end = { reason }
    this.#tellEnd(reason)
    const lost = new TransportError('The connection ended before the answer came.', 'UNKNOWN', { cause: reason })
    for (const giveUp of this.#giveUps) giveUp(lost)
  }
}

function notOpened(reason: unknown): TransportError {
  return new TransportError('The attempt to connect was given up.', 'NOT_SENT', { cause: reason })
}

function parentGone(outcome: 'NOT_SENT' | 'UNKNOWN', cause?: Error): TransportError {
  return new TransportError('The parent process, which holds the cluster, is gone.', outcome, { cause })
}
