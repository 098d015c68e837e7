import type { WaitingPlace } from '../../../src/partition/key-order/waiting-record.ts'

/** The group of the simulated owners. */
export const groupId = 'shipping'

/** The one partition that they own in turn. */
export const place: WaitingPlace = {
  source: { topic: 'orders', partition: 0 },
  waiting: { topic: 'orders.shipping.waiting', partition: 0 },
  groupId,
}
