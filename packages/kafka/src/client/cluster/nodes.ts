/**
 * Connections to the nodes of a cluster, and the only time-outs there are.
 *
 * A broker serves one request of a connection at a time: a commit behind a four-second long poll waits four seconds. So
 * everybody who must not wait for another has Nodes of its own: each group member one for its coordinator and one for
 * its fetches, the client one for metadata and one for producing.
 *
 * A connection is opened when first needed and forgotten when it ends, or when a request on it gets no answer in time; the
 * next request opens another. Nothing here retries: only the caller knows whether a request may be sent twice.
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
 * A request, or a function that makes it in the very turn in which it is written, when a wait for the connection is over.
 * What the function throws is what the send rejects with, and nothing was sent.
 */
export type RequestSource<A extends KafkaApi> = RequestOf<A> | (() => RequestOf<A>)

/** Sends requests to nodes, connecting where there is no connection yet. */
export interface Nodes {
  /**
   * Resolves with the node's answer. Rejects with a KafkaError: RETRIABLE when the node cannot have seen the request,
   * UNKNOWN when it may have. After `timeoutMs` (connecting included) no further request is sent on the connection. It is
   * closed, which ends every request on it, at once or, if it is shared, when nobody waits on it any more.
   */
  send<A extends KafkaApi>(
    node: NodeAddress,
    api: A,
    request: RequestSource<A>,
    timeoutMs: number,
  ): Promise<ResponseOf<A>>
  /** Ends all connections; later sends reject. */
  close(): void
}

/** A node's name in maps and messages. */
export function addressOf({ host, port }: NodeAddress): string {
  return `${host}:${port}`
}

/** A connection on its way, or open. */
interface Link {
  readonly connection: Promise<KafkaConnection>
  /** The same once it is open. */
  readonly opened: KafkaConnection | undefined
  /** Once true nothing is sent on it any more, even if it opens after all. */
  readonly isEnded: boolean
  /** A request begins to wait on it. */
  enter(): void
  /** It has its answer, or gives up. */
  leave(): void
  /** Nobody else gets it. When nobody waits on it any more, or at once if its users are no strangers, it ends. */
  giveUp(why: string): void
  /** Ends it, open or not. */
  end(why: string): void
}

/** Who uses the connections. */
export interface NodesOptions {
  /**
   * True for users that know nothing of each other: one that is impatient must not end the requests of the patient.
   * Otherwise a connection that is late once is taken for dead, and everybody on it is told so at once.
   * @defaultValue false
   */
  readonly isShared?: boolean
}

/** Makes {@link Nodes} on a transport. */
export function createNodes(
  transport: KafkaTransport,
  clientId: string,
  runtime: Pick<Runtime, 'timers'>,
  { isShared = false }: NodesOptions = {},
): Nodes {
  /** Those that the next request takes. */
  const links = new Map<string, Link>()
  /** Also those on which somebody still waits. */
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
          () => {}, // It never opened: there is nothing to end, and its senders were told.
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
      if (isClosed) return Promise.reject(new KafkaError(`${what}: the client is closed.`, 'FATAL'))
      const link = links.get(address) ?? open(node, address)
      return new Promise((resolve, reject) => {
        let isSent = false
        let isLate = false
        link.enter()
        const exchange = async (): Promise<ResponseOf<A>> => {
          const connection = link.opened ?? (await link.connection)
          // It opened in the very moment it was given up: the caller has been told that nothing was sent.
          if (link.isEnded || isLate) throw new TransportError('The connection was given up.', 'NOT_SENT')
          const made = typeof request === 'function' ? request() : request
          isSent = true
          return connection.send(api, made)
        }
        // On an open connection it is written here, before anything that the answer does not wait for.
        const answer = exchange()
        const timer = runtime.timers.schedule(timeoutMs, () => {
          const late = `no answer within ${timeoutMs} ms.`
          isLate = true
          link.giveUp(late)
          link.leave()
          // Still connecting: the node cannot have seen it, and will not.
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
