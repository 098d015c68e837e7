import type { AuditRow } from '@waybill/connector'
import type { StoreAddress } from './store/shop-store.ts'

/** Settings of the shop's process. */
export interface ShopTask {
  readonly store: StoreAddress
  /** Addresses of brokers; null: the cluster that the parent holds. */
  readonly brokers: readonly string[] | null
  readonly clusterNodes: readonly string[]
  readonly topic: string
  readonly orders: number
  readonly ordersPerSecond: number
  readonly logFile: string
}

/** Commands to the shop: replay the dead letters, because the missing carrier is back; or stop. */
export type ShopCommand = 'replay' | 'stop'

/** Messages of the shop. */
export type ShopMessage =
  | { readonly kind: 'open' }
  | { readonly kind: 'failed'; readonly orderId: string; readonly tier: number }
  | { readonly kind: 'replayed'; readonly count: number }
  | { readonly kind: 'stopped'; readonly audit: readonly PrintableRow[] }
  /** It failed, and ends. */
  | { readonly kind: 'broken'; readonly why: string }

/** A row of the connector's audit whose numbers survive JSON. */
export type PrintableRow = Pick<AuditRow, 'topic' | 'partition' | 'problem'> &
  Readonly<Record<'committed' | 'ok' | 'retried' | 'dead' | 'skipped', number>>
