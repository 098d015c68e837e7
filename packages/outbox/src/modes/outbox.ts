import type { Schemas } from '@waybill/core'
import type { Outbox as OutboxInstance } from './assemble-outbox.ts'
import { keyed } from './keyed.ts'
import { leasing } from './leasing.ts'
import { multiNode } from './multi-node.ts'
import { ordered } from './ordered.ts'
import { singleNode } from './single-node.ts'
import { writerOnly } from './writer-only.ts'

/** An outbox, created by one of the factories below. */
export type Outbox<S extends Schemas, Tx> = OutboxInstance<S, Tx>

/**
 * Creates an outbox. A factory is synchronous, does no IO, and throws one OptionsError with every violation.
 *
 * - `singleNode`: one process, the fewest statements.
 * - `multiNode`: any number of processes; rows are claimed.
 * - `keyed`: any number of processes; events of one key in order, keys concurrently, with retries.
 * - `leasing`: like `keyed`, with shards by instance number, adaptive retries and a breaker.
 * - `ordered`: one process, one event after the other, no retries.
 * - `writerOnly`: only writes; another reader delivers from the table.
 */
export const Outbox: {
  readonly singleNode: typeof singleNode
  readonly multiNode: typeof multiNode
  readonly keyed: typeof keyed
  readonly leasing: typeof leasing
  readonly ordered: typeof ordered
  readonly writerOnly: typeof writerOnly
} = Object.freeze({ singleNode, multiNode, keyed, leasing, ordered, writerOnly })
