/**
 * One TCP or TLS connection to a broker: frames out, frames in, answers matched to requests in order.
 *
 * Ours and not the library's because a transport may own no time: the library's connection has a timer for every
 * request and for connecting that cannot be turned off, lets requests overtake a re-authentication, and takes a
 * malformed frame as an exception nobody can catch. Here there are no timers, a request is written before `request`
 * returns, and whatever a peer sends ends in `ended`.
 */

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls'
import { abortReason } from '@waybill/core/internal'
import { ByteReader } from '../api/byte-reader.ts'
import type { RequestBody } from '../api/byte-writer.ts'
import { because } from './because.ts'
import { FrameReader } from './frame-reader.ts'
import { type NodeAddress, TransportError } from './kafka-transport.ts'
import { PeerError } from './peer-error.ts'

/** A request to send. */
export interface BrokerRequest {
  /** For errors. */
  readonly what: string
  readonly apiKey: number
  readonly apiVersion: number
  /** Whether its header has tagged fields: true for every flexible version. */
  readonly isFlexible: boolean
  readonly body: RequestBody
}

/** How to reach a broker. */
export interface SocketOptions {
  readonly clientId: string
  readonly tls: TlsOptions | false
  readonly maxResponseBytes: number
  readonly signal: AbortSignal | undefined
}

interface Pending {
  readonly what: string
  readonly correlationId: number
  readonly resolve: (answer: ByteReader) => void
  readonly reject: (error: TransportError) => void
}

/** An open connection. Make one with {@link openBrokerSocket}. */
export class BrokerSocket {
  /** `host:port`, for errors. */
  readonly address: string
  /** Resolves when it is over: with null after `close()`, else with the reason. */
  readonly ended: Promise<Error | null>
  readonly #socket: Socket
  readonly #clientId: Buffer
  readonly #frames: FrameReader
  readonly #pending: Pending[] = []
  readonly #resolveEnded: (reason: Error | null) => void
  #isOver = false
  #correlationId = 0

  constructor(socket: Socket, node: NodeAddress, options: Pick<SocketOptions, 'clientId' | 'maxResponseBytes'>) {
    const { promise, resolve } = Promise.withResolvers<Error | null>()
    this.address = `${node.host}:${node.port}`
    this.ended = promise
    this.#resolveEnded = resolve
    this.#socket = socket
    this.#clientId = Buffer.from(options.clientId)
    this.#frames = new FrameReader(options.maxResponseBytes)
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', (error) => this.fail(error))
    const onEnd = (): void => this.fail(new PeerError('the broker closed the connection'))
    socket.on('end', onEnd)
    socket.on('close', onEnd)
  }

  /**
   * Writes the request and resolves with a reader of what follows the answer's correlation id. Rejects with a
   * TransportError: NOT_SENT when the connection was over before, UNKNOWN when it ended before the answer came.
   */
  request(request: BrokerRequest): Promise<ByteReader> {
    if (this.#isOver) {
      return Promise.reject(
        new TransportError(`${request.what}: the connection to ${this.address} is over.`, 'NOT_SENT'),
      )
    }
    this.#correlationId = (this.#correlationId + 1) % 2 ** 31
    const correlationId = this.#correlationId
    return new Promise((resolve, reject) => {
      this.#pending.push({ what: request.what, correlationId, resolve, reject })
      this.#socket.write(this.#frameOf(request, correlationId))
    })
  }

  /** What `work` settles with, or a rejection if the connection ends before. */
  orEnded<T>(work: Promise<T>): Promise<T> {
    const end = this.ended.then((reason): never => {
      throw reason ?? new TransportError(`The connection to ${this.address} was closed.`, 'NOT_SENT')
    })
    return Promise.race([work, end])
  }

  /** Ends it at once; requests without an answer reject. */
  close(): void {
    this.#end(null)
  }

  /** Ends it at once for a reason. */
  fail(reason: Error): void {
    this.#end(reason)
  }

  #frameOf(request: BrokerRequest, correlationId: number): Buffer {
    const clientIdBytes = this.#clientId.length
    const header = Buffer.alloc(14 + clientIdBytes + (request.isFlexible ? 1 : 0))
    header.writeInt32BE(header.length - 4 + request.body.length, 0)
    header.writeInt16BE(request.apiKey, 4)
    header.writeInt16BE(request.apiVersion, 6)
    header.writeInt32BE(correlationId, 8)
    header.writeInt16BE(clientIdBytes, 12)
    this.#clientId.copy(header, 14)
    return Buffer.concat([header, ...request.body.buffers])
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return
    try {
      for (const frame of this.#frames.push(chunk)) this.#answer(frame)
    } catch (error) {
      this.fail(error as Error)
    }
  }

  /** A broker answers in order: anything but the answer to the oldest request means that we no longer agree. */
  #answer(frame: Buffer): void {
    const correlationId = frame.readInt32BE(0)
    const oldest = this.#pending.shift()
    if (oldest === undefined) throw new PeerError('the broker answered a request that was never sent')
    if (oldest.correlationId === correlationId) return oldest.resolve(this.#readerOf(oldest.what, frame.subarray(4)))
    this.#pending.unshift(oldest)
    throw new PeerError(`the broker answered request ${correlationId} where ${oldest.correlationId} was due`)
  }

  #readerOf(what: string, answer: Buffer): ByteReader {
    return new ByteReader(
      answer,
      (wrong) => new TransportError(`${what}: the answer of ${this.address} cannot be read: ${wrong}.`, 'UNKNOWN'),
    )
  }

  #end(reason: Error | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#socket.destroy()
    const why = reason === null ? 'it was closed here' : because(reason)
    const context = reason === null ? {} : { cause: reason }
    for (const { what, reject } of this.#pending.splice(0)) {
      const told = `${what}: the connection to ${this.address} ended before the answer came: ${why}.`
      reject(new TransportError(told, 'UNKNOWN', context))
    }
    this.#resolveEnded(reason)
  }
}

/** Connects; with TLS also shakes hands. Rejects with whatever went wrong, also with the reason of `signal`. */
export async function openBrokerSocket(node: NodeAddress, options: SocketOptions): Promise<BrokerSocket> {
  const { signal, tls } = options
  signal?.throwIfAborted()
  const socket = startSocket(node, tls)
  // An error after the one that is told has nobody left to tell, and must not end the process.
  socket.on('error', () => {})
  try {
    await once(socket, tls === false ? 'connect' : 'secureConnect', signal === undefined ? {} : { signal })
  } catch (error) {
    socket.destroy()
    throw signal?.aborted === true ? abortReason(signal) : error
  }
  const opened = new BrokerSocket(socket, node, options)
  if (socket.destroyed) opened.fail(new PeerError('the peer closed the connection'))
  return opened
}

function startSocket({ host, port }: NodeAddress, tls: TlsOptions | false): Socket {
  // A server behind a proxy is found by its name; an address is not one.
  const name = isIP(host) === 0 ? { servername: host } : {}
  const socket = tls === false ? connectTcp({ host, port }) : connectTls({ ...name, ...tls, host, port })
  // Keep-alive: an idle connection to a machine that vanished is noticed by the kernel, not by a timer of ours.
  return socket.setNoDelay(true).setKeepAlive(true)
}
