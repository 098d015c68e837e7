/** Holds the WebSockets of clients: answers what they missed, and passes on what is delivered to them. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import type { ChatStore } from '../chat/chat-store.ts'
import type { ClientFrame, WorkerFrame } from '../frames.ts'
import type { Delivery, Presence } from '../presence/presence.ts'

const historyLimit = 200
/** A client that reads more slowly than it is written to is disconnected: it syncs when it comes back. */
const mostBufferedBytes = 1_048_576
const mostFrameBytes = 65_536
const tryAgainLater = 1_013

/** A connection, and its user once the client has said hello. */
interface Connection {
  readonly socket: WebSocket
  userId: string | undefined
}

/** The connections of one worker. */
export class Gateway<Tx> {
  readonly #id: string
  readonly #store: ChatStore<Tx>
  readonly #presence: Presence
  readonly #server: WebSocketServer
  readonly #sockets = new Map<string, Set<WebSocket>>()

  constructor(id: string, store: ChatStore<Tx>, presence: Presence) {
    this.#id = id
    this.#store = store
    this.#presence = presence
    this.#server = new WebSocketServer({ host: '127.0.0.1', port: 0, maxPayload: mostFrameBytes })
    this.#server.on('connection', (socket) => this.#accept(socket))
  }

  /** Resolves to its address when it listens. */
  async start(): Promise<string> {
    if (this.#server.address() === null) await once(this.#server, 'listening')
    await this.#presence.listen(this.#id, (delivery) => this.#pass(delivery))
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Cuts every connection. Clients connect elsewhere. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#server.clients) socket.terminate()
    await closed
  }

  #accept(socket: WebSocket): void {
    const connection: Connection = { socket, userId: undefined }
    // Frames of a client are handled one after another.
    let handled = Promise.resolve()
    socket.on('message', (data: Buffer) => {
      handled = handled
        .then(() => this.#handle(connection, JSON.parse(data.toString()) as ClientFrame))
        // The database or the presence is away, or the frame is broken: the client comes back and syncs.
        .catch(() => socket.close(tryAgainLater))
    })
    socket.on('error', () => socket.terminate())
    socket.on('close', () => this.#remove(connection))
  }

  async #handle(connection: Connection, frame: ClientFrame): Promise<void> {
    const { socket, userId } = connection
    if (socket.readyState !== socket.OPEN) return
    if (frame.type === 'sync' && userId !== undefined) await this.#sync(socket, userId, frame.chatId, frame.after)
    if (frame.type === 'hello' && userId === undefined) {
      // A real service takes the user from a verified token.
      connection.userId = frame.userId
      await this.#welcome(socket, frame.userId, frame.cursors)
    }
  }

  /** Makes the user reachable first, and reads the history then: a message in between arrives twice, not never. */
  async #welcome(socket: WebSocket, userId: string, cursors: Readonly<Record<string, number>>): Promise<void> {
    const sockets = this.#sockets.get(userId) ?? new Set()
    this.#sockets.set(userId, sockets.add(socket))
    await this.#presence.join(userId, this.#id)
    for (const chatId of await this.#store.chatsOf(userId))
      await this.#sync(socket, userId, chatId, cursors[chatId] ?? 0)
    this.#send(socket, JSON.stringify({ type: 'ready' } satisfies WorkerFrame))
  }

  async #sync(socket: WebSocket, userId: string, chatId: string, after: number): Promise<void> {
    const messages = await this.#store.messagesAfter(userId, chatId, after, historyLimit)
    const isMore = messages.length === historyLimit
    const frame: WorkerFrame = { type: 'history', chatId, messages, isMore }
    if (messages.length > 0) this.#send(socket, JSON.stringify(frame))
  }

  #pass({ userIds, frame }: Delivery): void {
    const text = JSON.stringify(frame)
    for (const userId of userIds) for (const socket of this.#sockets.get(userId) ?? []) this.#send(socket, text)
  }

  #send(socket: WebSocket, text: string): void {
    if (socket.bufferedAmount > mostBufferedBytes) socket.terminate()
    else socket.send(text, () => {}) // A failed send closes the connection, and the client syncs.
  }

  #remove({ socket, userId }: Connection): void {
    if (userId === undefined) return
    const sockets = this.#sockets.get(userId)
    sockets?.delete(socket)
    if (sockets?.size !== 0) return
    this.#sockets.delete(userId)
    // A place that stays costs a delivery that reaches nobody.
    this.#presence.leave(userId, this.#id).catch(() => {})
  }
}
