/** A client of the chat: keeps each chat in the order of its numbers, and connects again when its worker is gone. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { MessagePersisted } from './events.ts'
import type { ClientFrame, WorkerFrame } from './frames.ts'

const reconnectMs = 50

/** A user with one connection. */
export class ChatClient {
  readonly userId: string
  /** Messages by chat: numbers 1 to n, each once, because others are refused or synced. */
  readonly chats = new Map<string, MessagePersisted[]>()
  /** Messages that arrived again, and times that one was missing and synced. */
  repeated = 0
  gaps = 0
  reconnects = 0
  readonly #addresses: () => readonly string[]
  #socket: WebSocket | undefined
  #isClosed = false
  #ready = Promise.withResolvers<void>()

  /** @param addresses - returns the workers there are now */
  constructor(userId: string, addresses: () => readonly string[]) {
    this.userId = userId
    this.#addresses = addresses
  }

  /** Resolves when a worker has sent what was missed. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** Connects to the worker at this place of the list, wrapping around. */
  connect(place: number): void {
    if (this.#isClosed) return
    const addresses = this.#addresses()
    const socket = new WebSocket(addresses[place % addresses.length] ?? '')
    this.#socket = socket
    socket.addEventListener('open', () => {
      const cursors = Object.fromEntries([...this.chats].map(([chatId, messages]) => [chatId, messages.length]))
      this.#send({ type: 'hello', userId: this.userId, cursors })
    })
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data)) as WorkerFrame))
    socket.addEventListener('close', () => void this.#reconnect(place + 1))
    socket.addEventListener('error', () => socket.close())
  }

  close(): void {
    this.#isClosed = true
    this.#socket?.close()
  }

  async #reconnect(place: number): Promise<void> {
    if (this.#isClosed) return
    this.reconnects++
    this.#ready = Promise.withResolvers()
    await sleep(reconnectMs)
    this.connect(place)
  }

  #receive(frame: WorkerFrame): void {
    if (frame.type === 'ready') this.#ready.resolve()
    else if (frame.type === 'message') this.#take(frame.message)
    else if (frame.type === 'history') {
      for (const message of frame.messages) this.#take(message)
      if (frame.isMore) this.#sync(frame.chatId)
    } else if (frame.change.change_type === 'added') this.#sync(frame.change.chat_id)
  }

  #take(message: MessagePersisted): void {
    const messages = this.chats.get(message.chat_id) ?? []
    this.chats.set(message.chat_id, messages)
    const next = messages.length + 1
    if (message.sequence === next) messages.push(message)
    else if (message.sequence < next) this.repeated++
    else {
      this.gaps++
      this.#sync(message.chat_id)
    }
  }

  #sync(chatId: string): void {
    this.#send({ type: 'sync', chatId, after: this.chats.get(chatId)?.length ?? 0 })
  }

  #send(frame: ClientFrame): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame))
  }
}
