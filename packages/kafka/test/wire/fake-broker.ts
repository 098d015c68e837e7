/** A broker that answers as a test tells it to, on a local socket. */

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { Writer } from '@platformatic/kafka'
import type { NodeAddress } from '@waybill/kafka/wire'
import { apiTable } from '../../src/wire/api/api-table.ts'

/** A request as it came in. */
export interface FakeRequest {
  readonly key: number
  readonly version: number
  readonly correlationId: number
  readonly clientId: string
  /** What follows the client id: tagged fields and body. */
  readonly rest: Buffer
  readonly socket: Socket
  /** Answers with these bytes behind the correlation id. */
  reply(body: Buffer | Writer): void
}

export interface FakeBroker extends AsyncDisposable {
  readonly node: NodeAddress
  /** All requests so far but those for versions. */
  readonly requests: readonly FakeRequest[]
  /** Resolves when so many requests have come. */
  received(count: number): Promise<void>
  /** Resolves when the client of the first connection has gone. */
  readonly gone: Promise<void>
}

export const versionsKey = 18

/** Starts one. Without `greets: false` it answers ApiVersions by itself, offering everything we speak. */
export async function startFakeBroker(
  onRequest: (request: FakeRequest) => void = () => {},
  { greets = true, tls }: { readonly greets?: boolean; readonly tls?: TlsOptions } = {},
): Promise<FakeBroker> {
  const requests: FakeRequest[] = []
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const sockets = new Set<Socket>()
  const { promise: gone, resolve: markGone } = Promise.withResolvers<void>()
  const accept = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      markGone()
    })
    forEachRequest(socket, (request) => {
      if (greets && request.key === versionsKey) return request.reply(versionsAnswer())
      requests.push(request)
      onRequest(request)
      for (const { count, resolve } of waiting) if (requests.length >= count) resolve()
    })
  }
  const server: Server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept)
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    node: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    requests,
    gone,
    received: (count) =>
      requests.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push({ count, resolve })
          }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function forEachRequest(socket: Socket, visit: (request: FakeRequest) => void): void {
  let held = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    while (held.length >= 4 && held.length >= 4 + held.readInt32BE(0)) {
      const frame = held.subarray(4, 4 + held.readInt32BE(0))
      held = held.subarray(4 + frame.length)
      const clientIdEnd = 10 + frame.readInt16BE(8)
      const correlationId = frame.readInt32BE(4)
      visit({
        key: frame.readInt16BE(0),
        version: frame.readInt16BE(2),
        correlationId,
        clientId: frame.toString('utf8', 10, clientIdEnd),
        rest: frame.subarray(clientIdEnd),
        socket,
        reply: (body) => {
          if (socket.writable) socket.write(answerFrame(correlationId, Buffer.isBuffer(body) ? body : body.buffer))
        },
      })
    }
  })
}

/** A whole frame: length, correlation id, body. */
export function answerFrame(correlationId: number, body: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeInt32BE(4 + body.length, 0)
  head.writeInt32BE(correlationId, 4)
  return Buffer.concat([head, body])
}

/** The answer to ApiVersions: by default all that we speak. */
export function versionsAnswer(
  offered: readonly { readonly key: number; readonly min: number; readonly max: number }[] = Object.values(
    apiTable,
  ).map(({ key, versions }) => ({ key, min: Math.min(...versions), max: Math.max(...versions) })),
): Writer {
  return Writer.create()
    .appendInt16(0)
    .appendArray([...offered], (writer, { key, min, max }) => writer.appendInt16(key).appendInt16(min).appendInt16(max))
    .appendInt32(0)
    .appendTaggedFields()
}

/** A body that begins with the empty tagged fields of a flexible answer's header. */
export function flexible(write: (writer: Writer) => Writer): Writer {
  return write(Writer.create().appendTaggedFields()).appendTaggedFields()
}

/** The answer to Heartbeat. */
export function heartbeatAnswer(errorCode = 0): Writer {
  return flexible((writer) => writer.appendInt32(0).appendInt16(errorCode))
}
