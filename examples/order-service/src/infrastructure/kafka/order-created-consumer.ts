import { type Binding, defineBinding, handleEvents } from '@waybill/connector'
import type { Inbox } from '@waybill/core'
import type { UpdateStamp } from '../../region/update-order.ts'
import type { OrderEvents } from './order-events.ts'

/** This region became passive while the event was on its way to the handler. It moves to a retry topic, unprocessed. */
export class RegionPassiveError extends Error {
  constructor() {
    super('This region is passive. The event waits in a retry topic.')
    this.name = 'RegionPassiveError'
  }
}

/** What the consumer of created orders needs. */
export interface OrderCreatedParts<Tx> {
  readonly events: OrderEvents
  readonly inbox: Inbox<Tx>
  readonly groupId: string
  readonly allowsWrites: () => boolean
  /** Told of each update before it is stored. */
  readonly observe: (stamp: UpdateStamp) => void
  /** Stores the update in the transaction that marks the event as processed. */
  readonly record: (tx: Tx, orderId: string, stamp: UpdateStamp) => Promise<unknown>
}

/**
 * Consumes created orders: the event is marked as processed in the transaction of its effect, so that a repeat has none.
 * It never changes the status of an order.
 */
export function orderCreatedBinding<Tx>({
  events,
  inbox,
  groupId,
  allowsWrites,
  observe,
  record,
}: OrderCreatedParts<Tx>): Binding {
  const handler = handleEvents(
    events,
    {
      ORDER_CREATED: async ({ payload, occurredAt }, { tx }) => {
        if (!allowsWrites()) throw new RegionPassiveError()
        const { orderId, version, region } = payload
        const stamp = { occurredAt, version, region }
        observe(stamp)
        await record(tx, orderId, stamp)
      },
    },
    { inbox },
  )
  return defineBinding({
    topic: events.definitions.ORDER_CREATED.topic,
    groupId,
    // Five attempts, the first at once; the others wait in topics, never in the handler.
    retry: {
      tier0: { maxAttempts: 1 },
      tiers: [
        { delayMs: 1_000, maxAttempts: 1 },
        { delayMs: 5_000, maxAttempts: 1 },
        { delayMs: 30_000, maxAttempts: 1 },
        { delayMs: 300_000, maxAttempts: 1 },
      ],
    },
    handler,
  })
}
