import type { Schemas } from '@waybill/core'
import type { Outbox as OutboxInstance } from './assemble-outbox.ts'
import { keyed } from './keyed.ts'
import { leasing } from './leasing.ts'
import { multiNode } from './multi-node.ts'
import { ordered } from './ordered.ts'
import { singleNode } from './single-node.ts'
import { writerOnly } from './writer-only.ts'

/** See its members; made by the factories below. */
export type Outbox<S extends Schemas, Tx> = OutboxInstance<S, Tx>

/**
 * Makes an outbox. A factory is synchronous, does no IO, and throws one OptionsError with everything that is wrong.
 *
 * - `singleNode`: one process, the least statements.
 * - `multiNode`: any number of processes; rows are claimed.
 * - `keyed`: any number of processes; the events of a key in order, keys side by side, with retries.
 * - `leasing`: as `keyed`, with shards by instance number, adaptive retries and a breaker.
 * - `ordered`: one process, one event after the other, no retries.
 * - `writerOnly`: only writes; something else reads the table.
 */
export const Outbox: {
  readonly singleNode: typeof singleNode
  readonly multiNode: typeof multiNode
  readonly keyed: typeof keyed
  readonly leasing: typeof leasing
  readonly ordered: typeof ordered
  readonly writerOnly: typeof writerOnly
} = Object.freeze({ singleNode, multiNode, keyed, leasing, ordered, writerOnly })
