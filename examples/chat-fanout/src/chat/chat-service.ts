/** The commands of the chat: each writes its rows and its event in one transaction. */

import { createUlidGenerator, type Runtime } from '@waybill/core'
import type { Outbox } from '@waybill/outbox'
import type { ChatSchemas, MessagePersisted } from '../events.ts'
import type { ChatStore } from './chat-store.ts'

/** A message as a client sends it. */
export interface NewMessage {
  readonly chatId: string
  readonly senderId: string
  readonly content: string
  /** Chosen by the client: a repeated request has no second effect. */
  readonly clientMessageId: string
}

/** Creates chats, adds members and accepts messages. */
export class ChatService<Tx> {
  readonly #store: ChatStore<Tx>
  readonly #outbox: Pick<Outbox<ChatSchemas, Tx>, 'write'>
  readonly #runtime: Runtime
  readonly #ulid: () => string

  constructor(store: ChatStore<Tx>, outbox: Pick<Outbox<ChatSchemas, Tx>, 'write'>, runtime: Runtime) {
    this.#store = store
    this.#outbox = outbox
    this.#runtime = runtime
    this.#ulid = createUlidGenerator(runtime)
  }

  async create(chatId: string, name: string, createdBy: string, members: readonly string[]): Promise<void> {
    await this.#store.database.transaction(async (tx) => {
      await this.#store.addChat(tx, chatId, name)
      for (const member of members) await this.#store.addMember(tx, chatId, member)
      await this.#outbox.write(
        tx,
        'ChatCreated',
        {
          chat_id: chatId,
          chat_type: 'group',
          name,
          created_by: createdBy,
          initial_members: [...members],
          created_at: this.#now(),
        },
        this.#meta(),
      )
    })
  }

  async addMember(chatId: string, userId: string, changedBy: string): Promise<void> {
    await this.#store.database.transaction(async (tx) => {
      await this.#store.addMember(tx, chatId, userId)
      await this.#outbox.write(
        tx,
        'MembershipChanged',
        {
          chat_id: chatId,
          user_id: userId,
          change_type: 'added',
          role: 'member',
          changed_by: changedBy,
          changed_at: this.#now(),
        },
        this.#meta(),
      )
    })
  }

  /** Accepts a message. A repeated one is returned as it was accepted, and has no second event. */
  send({ chatId, senderId, content, clientMessageId }: NewMessage): Promise<MessagePersisted> {
    return this.#store.database.transaction(async (tx) => {
      // Messages of a chat commit one after another, in the order of their numbers.
      const last = await this.#store.lock(tx, chatId)
      const repeated = await this.#store.messageOf(tx, chatId, clientMessageId)
      if (repeated !== undefined) return repeated
      const message: MessagePersisted = {
        message_id: `msg_${this.#ulid()}`,
        chat_id: chatId,
        sequence: last + 1,
        sender_id: senderId,
        content,
        content_type: 'text/plain',
        client_message_id: clientMessageId,
        created_at: this.#now(),
      }
      await this.#store.addMessage(tx, message)
      await this.#outbox.write(tx, 'MessagePersisted', message, this.#meta())
      return message
    })
  }

  #now(): string {
    return new Date(this.#runtime.clock.now()).toISOString()
  }

  #meta(): { readonly eventId: string } {
    return { eventId: `evt_${this.#ulid()}` }
  }
}
