import type { OrderParts } from '../../domain/order/order.ts'

/** An order as the application stores it, whatever the database. */
export interface OrderRecord extends OrderParts {
  /** The region that changed it last. */
  readonly region: string
  /** The key that its creation came with. With the owner it is unique. */
  readonly idempotencyKey: string | null
  /** Of the request that created it, to recognize a key that comes with another content. */
  readonly fingerprint: string | null
}
