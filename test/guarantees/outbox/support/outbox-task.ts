import { defineEvents, type EventCatalog, type StandardSchema } from '@waybill/core'
import { z } from 'zod'
import type { DatabaseAddress } from './open-database.ts'

/** The task of an outbox process. */
export interface OutboxTask {
  readonly database: DatabaseAddress
  /** Table of the outbox; that of the book is named after it. */
  readonly table: string
  readonly mode: 'singleNode' | 'multiNode' | 'keyed' | 'leasing' | 'ordered'
  readonly whenDone: 'KEEP' | 'DELETE'
  /** How long its leases last without renewal. */
  readonly leaseMs: number
  readonly journal: string
  /** Duration of a listener. */
  readonly handleMs: number
  readonly writing: Writing
  /** The value whose listener waits until its signal is aborted, and fails then. */
  readonly stuckAt?: string | undefined
  /** How long a stop may take. The process exits with {@link deadlineCode} when that is over. */
  readonly stopDeadlineMs?: number | undefined
  /** Kills itself at that failpoint, once that many listeners have completed. */
  readonly killAt?: { readonly point: string; readonly handled: number } | undefined
  /** Publishes to that topic, besides recording its steps. */
  readonly kafka?: { readonly brokers: readonly string[]; readonly topic: string } | undefined
}

/** The exit code of a process that could not stop before its deadline. */
export const deadlineCode = 3

/** How transactions are written. */
export interface Writing {
  /** Stops once the book holds that many rows of all writers. */
  readonly until: number
  /** Concurrent transactions; each lane has keys of its own. */
  readonly lanes: number
  /** Rows per transaction. */
  readonly events: number
  /** Pause between two transactions of a lane. */
  readonly everyMs: number
}

/** Its messages. Counters are its metrics, by name. */
export type OutboxMessage =
  | { readonly kind: 'RUNNING' }
  /** Its writers have completed. */
  | { readonly kind: 'WRITTEN' }
  | { readonly kind: 'STOPPED'; readonly counters: Readonly<Record<string, number>> }

const noted = z.object({ value: z.string(), key: z.string() })

/** The events of these tests, by name. */
export type GuaranteeSchemas = { readonly 'value.noted': StandardSchema & typeof noted }

/** The only event. The beginning of its value decides what its listener does. */
export function guaranteeEvents(topic: string): EventCatalog<GuaranteeSchemas> {
  return defineEvents({ 'value.noted': { topic, schema: noted, key: ({ key }) => key } })
}
