import type { AuditRow } from '@waybill/connector'
import type { StoreAddress } from './store/shop-store.ts'

/** What the shop's process is told at its start. */
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

/** What it is told later: the carrier that was away is back, and its dead letters are to be replayed; or to stop. */
export type ShopCommand = 'replay' | 'stop'

/** What it tells. */
export type ShopMessage =
  | { readonly kind: 'open' }
  | { readonly kind: 'failed'; readonly orderId: string; readonly tier: number }
  | { readonly kind: 'replayed'; readonly count: number }
  | { readonly kind: 'stopped'; readonly audit: readonly PrintableRow[] }
  /** It cannot go on, and ends. */
  | { readonly kind: 'broken'; readonly why: string }

/** A row of the connector's audit whose numbers survive JSON. */
export type PrintableRow = Pick<AuditRow, 'topic' | 'partition' | 'problem'> &
  Readonly<Record<'committed' | 'ok' | 'retried' | 'dead' | 'skipped', number>>
