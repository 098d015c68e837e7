/** Handles the events of the chat: attempts a delivery to every member who is online. */

import { handleEvents } from '@waybill/connector'
import { systemRuntime, UnavailableError } from '@waybill/core'
import type { ChatStore } from '../chat/chat-store.ts'
import type { ChatEvents } from '../events.ts'
import type { WorkerFrame } from '../frames.ts'
import type { Presence } from '../presence/presence.ts'
import type { CountDelivery } from './fanout-metrics.ts'

/** Returns the handler of the binding. An error means that a delivery was not attempted: the record is skipped and counted. */
export function fanOut<Tx>(events: ChatEvents, store: ChatStore<Tx>, presence: Presence, count: CountDelivery) {
  async function deliver(userIds: readonly string[], frame: WorkerFrame, occurredAt: number | null): Promise<void> {
    const failed: string[] = []
    for (const [gatewayId, users] of await presence.gatewaysOf(userIds)) {
      const isDelivered = await presence.deliver(gatewayId, { userIds: users, frame })
      const seconds = occurredAt === null ? null : (systemRuntime.clock.now() - occurredAt) / 1_000
      count(isDelivered ? 'delivered' : 'unreachable', seconds)
      if (isDelivered) continue
      failed.push(gatewayId)
      // Its worker is gone. The users who were there connect to another one, and sync.
      for (const userId of users) await presence.leave(userId, gatewayId)
    }
    if (failed.length > 0) throw new UnavailableError(`Gateways do not listen: ${failed.join(', ')}`)
  }

  return handleEvents(events, {
    MessagePersisted: async ({ payload, occurredAt }) =>
      deliver(await store.membersOf(payload.chat_id), { type: 'message', message: payload }, occurredAt),
    MembershipChanged: ({ payload, occurredAt }) =>
      deliver([payload.user_id], { type: 'membership', change: payload }, occurredAt),
  })
}
