import { defineEvents } from '@waybill/core'
import { z } from 'zod'
import { type ChatTopics, chatTopics } from './topology.ts'

const id = z.string().min(1).max(64)
const instant = z.iso.datetime()

const chatCreated = z.object({
  chat_id: id,
  chat_type: z.enum(['direct', 'group']),
  name: z.string().max(200),
  created_by: id,
  initial_members: z.array(id),
  created_at: instant,
})

const membershipChanged = z.object({
  chat_id: id,
  user_id: id,
  change_type: z.enum(['added', 'removed', 'role_changed']),
  role: z.enum(['member', 'admin']),
  changed_by: id,
  changed_at: instant,
})

const messagePersisted = z.object({
  message_id: id,
  chat_id: id,
  /** Counts the messages of a chat from 1, without gaps. */
  sequence: z.number().int().min(1),
  sender_id: id,
  content: z.string().max(10_000),
  content_type: z.literal('text/plain'),
  client_message_id: z.string().min(1).max(64),
  created_at: instant,
})

/** The key of all events: those of a chat share a partition, and keep their order. */
const key = (payload: { readonly chat_id: string }): string => payload.chat_id

/** Returns the events of the chat, in the envelope that all services of the chat write and read. */
export function chatEvents({ messages, memberships, chats }: ChatTopics, producer = 'chat-api') {
  return defineEvents(
    {
      ChatCreated: { topic: chats, schema: chatCreated, key },
      MembershipChanged: { topic: memberships, schema: membershipChanged, key },
      MessagePersisted: { topic: messages, schema: messagePersisted, key },
    },
    { wireFormat: 'ENVELOPE', producer },
  )
}

export type ChatEvents = ReturnType<typeof chatEvents>

type Definitions = ChatEvents['definitions']
/** The schemas of the events, by name. */
export type ChatSchemas = { readonly [N in keyof Definitions]: Definitions[N]['schema'] }
export type MessagePersisted = z.infer<typeof messagePersisted>
export type MembershipChanged = z.infer<typeof membershipChanged>

/** The catalog under the topics' own names. */
export const events: ChatEvents = chatEvents(chatTopics())
