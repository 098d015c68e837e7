/**
 * Connections to the nodes of a cluster, with the only request timeouts of the client.
 *
 * A broker serves one request per connection at a time: a commit sent behind a four-second long poll waits four
 * seconds. So each user that must not wait for another has its own Nodes: each group member has one for its coordinator
 * and one for its fetches, the client one for metadata and one for producing.
 *
 * A connection opens on first use. It is dropped when it ends, or when a request on it times out; the next request
 * opens another. Nothing here retries, because only the caller knows whether a request may be sent twice.
 */

import type { Runtime } from '@waybill/core'
import type { KafkaApi, RequestOf, ResponseOf } from '../../wire/api/kafka-apis.ts'
import {
  type KafkaConnection,
  type KafkaTransport,
  type NodeAddress,
  TransportError,
} from '../../wire/broker/kafka-transport.ts'
import { KafkaError, toKafkaError } from './kafka-error.ts'

/**
 * A request, or a function that creates it in the same turn of the event loop in which it is written, after any wait
 * for the connection. If the function throws, the send rejects with that error and nothing is sent.
 */
export type RequestSource<A extends KafkaApi> = RequestOf<A> | (() => RequestOf<A>)

/** Sends requests to nodes, and connects on demand. */
export interface Nodes {
  /**
   * Resolves with the response. Rejects with a KafkaError: RETRIABLE when the node cannot have seen the request,
   * UNKNOWN when it may have. After `timeoutMs` (connecting included) the connection takes no further request and is
   * closed, which ends every request on it. A shared connection is closed only once no request is waiting on it.
   */
  send<A extends KafkaApi>(
    node: NodeAddress,
    api: A,
    request: RequestSource<A>,
    timeoutMs: number,
  ): Promise<ResponseOf<A>>
  /** Closes all connections; later sends reject. */
  close(): void
}

/** Returns the name of a node in maps and messages. */
export function addressOf({ host, port }: NodeAddress): string {
  return `${host}:${port}`
}

/** A connection, opening or open. */
interface Link {
  readonly connection: Promise<KafkaConnection>
  /** The connection, once it is open. */
  readonly opened: KafkaConnection | undefined
  /** True once nothing may be sent on it, even if it still opens. */
  readonly isEnded: boolean
  /** Counts a request that waits on this link. */
  enter(): void
  /** Uncounts a request that has its response or timed out. */
  leave(): void
  /** Stops handing out the link. Closes it at once, or if it is shared, when no request is waiting on it. */
  giveUp(why: string): void
  /** Closes the connection, or cancels its opening. */
  end(why: string): void
}

/** Options of {@link createNodes}. */
export interface NodesOptions {
  /**
   * True when independent users share the connections: the timeout of one must not fail the requests of another.
   * Otherwise a connection with one late response counts as dead, and all its requests fail at once.
   * @defaultValue false
   */
  readonly isShared?: boolean
}

/** Creates {@link Nodes} on a transport. */
export function createNodes(
  transport: KafkaTransport,
  clientId: string,
  runtime: Pick<Runtime, 'timers'>,
  { isShared = false }: NodesOptions = {},
): Nodes {
  /** Links by address, for the next requests. */
  const links = new Map<string, Link>()
  /** Every link that is not closed, including dropped ones with waiting requests. */
  const unended = new Set<Link>()
  let isClosed = false

  const open = (node: NodeAddress, address: string): Link => {
    const attempt = new AbortController()
    const connect = async (): Promise<KafkaConnection> => transport.connect(node, clientId, attempt.signal)
    const connection = connect()
    const forget = (): void => {
      if (links.get(address) === link) links.delete(address)
    }
    let waiting = 0
    let givenUp: string | undefined
    const link = {
      connection,
      opened: undefined as KafkaConnection | undefined,
      isEnded: false,
      enter: () => void waiting++,
      leave() {
        waiting--
        if (givenUp !== undefined && waiting === 0) link.end(givenUp)
      },
      giveUp(why: string) {
        givenUp ??= why
        forget()
        if (!isShared) link.end(why)
      },
      end(why: string) {
        if (link.isEnded) return
        link.isEnded = true
        forget()
        unended.delete(link)
        attempt.abort(new TransportError(why, 'NOT_SENT'))
        connection.then(
          (opened) => opened.close(),
          () => {}, // It never opened: nothing to close, and its senders already have the error.
        )
      },
    }
    const over = (): void => {
      forget()
      unended.delete(link)
    }
    links.set(address, link)
    unended.add(link)
    connection.then((opened) => {
      link.opened = opened
      return opened.ended.then(over)
    }, over)
    return link
  }

  return {
    send<A extends KafkaApi>(
      node: NodeAddress,
      api: A,
      request: RequestSource<A>,
      timeoutMs: number,
    ): Promise<ResponseOf<A>> {
      const address = addressOf(node)
      const what = `${api} to ${address}`
      if (isClosed)
        return Promise.reject(new KafkaError(`${what}: the client is closed.`, 'FATAL', { scope: 'CLUSTER' }))
      const link = links.get(address) ?? open(node, address)
      return new Promise((resolve, reject) => {
        let isSent = false
        let isLate = false
        link.enter()
        const exchange = async (): Promise<ResponseOf<A>> => {
          const connection = link.opened ?? (await link.connection)
          // It opened just after the timeout: the caller already has the error that nothing was sent.
          if (link.isEnded || isLate)
            throw new TransportError('The connection was dropped after a timeout.', 'NOT_SENT')
          const made = typeof request === 'function' ? request() : request
          isSent = true
          return connection.send(api, made)
        }
        // On an open connection this writes at once, before the timer is set.
        const answer = exchange()
        const timer = runtime.timers.schedule(timeoutMs, () => {
          const late = `no answer within ${timeoutMs} ms.`
          isLate = true
          link.giveUp(late)
          link.leave()
          // While still connecting, the node cannot have seen the request, and never will.
          reject(new KafkaError(`${what}: ${late}`, isSent ? 'UNKNOWN' : 'RETRIABLE'))
        })
        answer
          .then(resolve, (error: unknown) => reject(toKafkaError(what, error)))
          .finally(() => {
            timer[Symbol.dispose]()
            if (!isLate) link.leave()
          })
      })
    },
    close() {
      isClosed = true
      for (const link of unended) link.end('The client is closed.')
    },
  }
}
