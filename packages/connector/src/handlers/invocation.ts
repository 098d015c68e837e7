/** Turns any kind of handler into a function that prepares the handler call for a record. */

import { type EventCatalog, type Schemas } from '@waybill/core'
import { createWireFormat, type TopicKind } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { BatchHandler, EventHandler, RecordFilter, RecordHandler } from '../api/handler-types.ts'
import { isBatchHandler } from '../api/is-batch-handler.ts'
import { batchFailureOf } from './batch-processing-error.ts'
import type { RecordContext } from './delivery-context.ts'
import { preparerOf } from './handle-events.ts'
import type { Prepared } from './prepared.ts'
import { askFilter } from './record-filter.ts'

/**
 * Prepares the handler call for a record. Neither throws nor rejects.
 *
 * @param groupId - the binding's group, in its tiers as well
 */
export type Invocation = (record: KafkaRecord, kind: TopicKind, groupId: string) => Prepared | Promise<Prepared>

/** Creates the invocation of a handler, for the records that pass the filter. */
export function createInvocation(
  handler: RecordHandler | EventHandler | BatchHandler,
  filter?: RecordFilter,
): Invocation {
  const prepare = invocationOf(handler)
  if (filter === undefined) return prepare
  return (record, kind, groupId) => askFilter(filter, record) ?? prepare(record, kind, groupId)
}

/** Creates the invocation of a handler. A record handler receives raw records, so it shares one prepared run. */
function invocationOf(handler: RecordHandler | EventHandler | BatchHandler): Invocation {
  const events = preparerOf(handler)
  if (events !== undefined) return (record, kind, groupId) => events.prepare(record, kind, groupId)
  const handle = isBatchHandler(handler) ? oneByOne(handler) : (handler as RecordHandler)
  // The declaration of the binding ensures the type of `tx`.
  const run = (context: RecordContext<unknown>): Promise<void> | void =>
    handle(context.record, context as RecordContext)
  const prepared: Prepared = Object.freeze({ kind: 'RUN', run })
  return () => prepared
}

/** Calls a batch handler with single records: in a tier, each record has its own due time. */
function oneByOne(handler: BatchHandler): RecordHandler {
  return async (record, context) => {
    try {
      await handler.handleBatch([record], context)
    } catch (thrown) {
      throw batchFailureOf(thrown, 1).error
    }
  }
}

/** Returns the events that a handler may publish: those of its catalog, or none for a record handler. */
export function catalogOf(handler: RecordHandler | EventHandler | BatchHandler): EventCatalog<Schemas> {
  return preparerOf(handler)?.events ?? noEvents
}

const noEvents: EventCatalog<Schemas> = Object.freeze({
  definitions: Object.freeze({}),
  wireFormat: createWireFormat('JSON', 'waybill'),
})
