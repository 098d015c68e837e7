import { defineEvents, type EventCatalog, type StandardSchema } from '@waybill/core'
import { z } from 'zod'
import type { DatabaseAddress } from './open-database.ts'

/** What the process of an outbox is to do. */
export interface OutboxTask {
  readonly database: DatabaseAddress
  /** Of the outbox; that of the book is named after it. */
  readonly table: string
  readonly mode: 'singleNode' | 'multiNode' | 'keyed' | 'leasing' | 'ordered'
  readonly whenDone: 'KEEP' | 'DELETE'
  /** How long what this process holds is its own after its last sign of life. */
  readonly leaseMs: number
  readonly journal: string
  /** How long a listener takes. */
  readonly handleMs: number
  readonly writing: Writing
  /** Dies at that point, once its listeners have ended that often. */
  readonly killAt?: { readonly point: string; readonly handled: number } | undefined
  /** Publishes to that topic besides writing down what it does. */
  readonly kafka?: { readonly brokers: readonly string[]; readonly topic: string } | undefined
}

/** How transactions are written. */
export interface Writing {
  /** No more once the book holds so many rows, whoever wrote them. */
  readonly until: number
  /** Transactions at a time; each lane has keys of its own. */
  readonly lanes: number
  /** Rows of a transaction. */
  readonly events: number
  /** Between two transactions of a lane. */
  readonly everyMs: number
}

/** What it tells. Counters are its metrics, by name. */
export type OutboxMessage =
  | { readonly kind: 'RUNNING' }
  /** Its writers have ended. */
  | { readonly kind: 'WRITTEN' }
  | { readonly kind: 'STOPPED'; readonly counters: Readonly<Record<string, number>> }

const noted = z.object({ value: z.string(), key: z.string() })

/** The events of these tests, by name. */
export type GuaranteeSchemas = { readonly 'value.noted': StandardSchema & typeof noted }

/** The only event there is. What its value begins with says what its listener will do. */
export function guaranteeEvents(topic: string): EventCatalog<GuaranteeSchemas> {
  return defineEvents({ 'value.noted': { topic, schema: noted, key: ({ key }) => key } })
}
