import type { SqlDatabase } from '@waybill/sql'

/** Row counts of the database. */
export interface ShopCounts {
  readonly orders: number
  readonly shipments: number
  /** Rows of the outbox that are not yet on Kafka. */
  readonly unpublished: number
}

/** The shop's own tables. `Tx` is the handle of the driver: orders and events are written through the same one. */
export interface ShopStore<Tx> extends AsyncDisposable {
  readonly database: SqlDatabase<Tx>
  createTables(): Promise<void>
  addOrder(tx: Tx, orderId: string): Promise<void>
  addShipment(tx: Tx, orderId: string): Promise<void>
  counts(): Promise<ShopCounts>
  orderIds(): Promise<readonly string[]>
  shipmentIds(): Promise<readonly string[]>
}

/** Where the shop keeps its tables. */
export type StoreAddress =
  | { readonly kind: 'SQLITE'; readonly file: string }
  | { readonly kind: 'POSTGRES'; readonly url: string; readonly schema: string }
