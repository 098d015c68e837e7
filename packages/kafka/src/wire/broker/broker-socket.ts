/**
 * One TCP or TLS connection to a broker: frames out, frames in, responses matched to requests in order.
 *
 * It has no timers: the client decides how long a response may take. A request is written before `request` returns,
 * and any violation of the protocol closes the connection and resolves `ended`.
 */

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls'
import { abortReason } from '@waybill/core/internal'
import { ByteReader } from '../api/byte-reader.ts'
import type { RequestBody } from '../api/byte-writer.ts'
import { FrameReader } from './frame-reader.ts'
import { type NodeAddress, TransportError } from './kafka-transport.ts'
import { PeerError } from './peer-error.ts'
import { reasonOf } from './reason-of.ts'

/** A request to send. */
export interface BrokerRequest {
  /** The name in error messages. */
  readonly what: string
  readonly apiKey: number
  readonly apiVersion: number
  /** True for flexible versions, whose headers have tagged fields. */
  readonly isFlexible: boolean
  readonly body: RequestBody
}

/** The options of one connection. */
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

/** An open connection, created by {@link openBrokerSocket}. */
export class BrokerSocket {
  /** `host:port`, for error messages. */
  readonly address: string
  /** Resolves when the connection is closed: with null after `close()`, otherwise with the reason. */
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
   * Writes the request and resolves with a reader of the response after its correlation id. Rejects with a
   * TransportError: NOT_SENT when the connection is closed already, UNKNOWN when it closes before the response.
   */
  request(request: BrokerRequest): Promise<ByteReader> {
    if (this.#isOver) {
      return Promise.reject(
        new TransportError(`${request.what} was not sent: the connection to ${this.address} is closed.`, 'NOT_SENT'),
      )
    }
    this.#correlationId = (this.#correlationId + 1) % 2 ** 31
    const correlationId = this.#correlationId
    return new Promise((resolve, reject) => {
      this.#pending.push({ what: request.what, correlationId, resolve, reject })
      this.#socket.write(this.#frameOf(request, correlationId))
    })
  }

  /** Settles like `work`, or rejects when the connection closes first. */
  orEnded<T>(work: Promise<T>): Promise<T> {
    const end = this.ended.then((reason): never => {
      throw reason ?? new TransportError(`The connection to ${this.address} was closed.`, 'NOT_SENT')
    })
    return Promise.race([work, end])
  }

  /** Closes the connection at once; pending requests reject. */
  close(): void {
    this.#end(null)
  }

  /** Closes the connection at once, for a reason. */
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

  /** A broker responds in order: any other response than that to the oldest request breaks the protocol. */
  #answer(frame: Buffer): void {
    const correlationId = frame.readInt32BE(0)
    const oldest = this.#pending.shift()
    if (oldest === undefined) throw new PeerError('the broker responded to a request that was never sent')
    if (oldest.correlationId === correlationId) return oldest.resolve(this.#readerOf(oldest.what, frame.subarray(4)))
    this.#pending.unshift(oldest)
    throw new PeerError(`the broker responded to request ${correlationId} before request ${oldest.correlationId}`)
  }

  #readerOf(what: string, answer: Buffer): ByteReader {
    return new ByteReader(
      answer,
      (wrong) => new TransportError(`${what}: the response of ${this.address} cannot be read: ${wrong}.`, 'UNKNOWN'),
    )
  }

  #end(reason: Error | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#socket.destroy()
    const why = reason === null ? 'the client closed it' : reasonOf(reason)
    const context = reason === null ? {} : { cause: reason }
    for (const { what, reject } of this.#pending.splice(0)) {
      const message = `${what}: the connection to ${this.address} was closed before the response: ${why}.`
      reject(new TransportError(message, 'UNKNOWN', context))
    }
    this.#resolveEnded(reason)
  }
}

/** Connects, including the TLS handshake. Rejects with the cause of a failure, or the reason of `signal`. */
export async function openBrokerSocket(node: NodeAddress, options: SocketOptions): Promise<BrokerSocket> {
  const { signal, tls } = options
  signal?.throwIfAborted()
  const socket = startSocket(node, tls)
  // Without a listener, an error after the first would end the process.
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
  // A proxy finds its server by name, and an IP address is not a valid server name.
  const name = isIP(host) === 0 ? { servername: host } : {}
  const socket = tls === false ? connectTcp({ host, port }) : connectTls({ ...name, ...tls, host, port })
  // Keep-alive: the kernel detects that the host of an idle connection is gone, without a timer here.
  return socket.setNoDelay(true).setKeepAlive(true)
}
