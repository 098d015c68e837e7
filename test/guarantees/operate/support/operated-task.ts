import type { DatabaseAddress } from '../../outbox/support/open-database.ts'

/** The versions of the service: the second breaks two kinds of orders, the third fixes one of them. */
export type ServiceVersion = '1.8.0' | '1.8.1' | '1.8.2'

/** The task of an instance. */
export interface OperatedTask {
  readonly brokers: readonly string[]
  readonly database: DatabaseAddress
  readonly instance: string
  readonly version: ServiceVersion
  readonly topic: string
  readonly groupId: string
  /** A file that all instances append handled orders to. */
  readonly journal: string
}

/** An order, as it is written. */
export interface Order {
  readonly order: string
  readonly carrier: 'north' | 'south'
  /** In cents. */
  readonly total: number
}

/** An order that was handled. */
export interface HandledOrder {
  readonly order: string
  readonly total: number
  readonly instance: string
}

/** Its messages. */
export type OperatedMessage = { readonly kind: 'LISTENING'; readonly url: string }
