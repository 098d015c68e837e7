/** How the engine calls a binding's handler, of whichever kind it is. */

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
 * What there is to do with a record. Neither throws nor rejects.
 *
 * @param groupId the binding's group, on its tiers too.
 */
export type Invocation = (record: KafkaRecord, kind: TopicKind, groupId: string) => Prepared | Promise<Prepared>

/** What is done with the records that the filter takes, where there is one. */
export function createInvocation(
  handler: RecordHandler | EventHandler | BatchHandler,
  filter?: RecordFilter,
): Invocation {
  const prepare = invocationOf(handler)
  if (filter === undefined) return prepare
  return (record, kind, groupId) => askFilter(filter, record) ?? prepare(record, kind, groupId)
}

/** A record handler gets every record as it is, so there is nothing to prepare and nothing to allocate. */
function invocationOf(handler: RecordHandler | EventHandler | BatchHandler): Invocation {
  const events = preparerOf(handler)
  if (events !== undefined) return (record, kind, groupId) => events.prepare(record, kind, groupId)
  const handle = isBatchHandler(handler) ? oneByOne(handler) : (handler as RecordHandler)
  // What `tx` is there was promised where the binding was written.
  const run = (context: RecordContext<unknown>): Promise<void> | void =>
    handle(context.record, context as RecordContext)
  const prepared: Prepared = Object.freeze({ kind: 'RUN', run })
  return () => prepared
}

/** In a tier each record is due at a time of its own, and so is a batch of its own. */
function oneByOne(handler: BatchHandler): RecordHandler {
  return async (record, context) => {
    try {
      await handler.handleBatch([record], context)
    } catch (thrown) {
      throw batchFailureOf(thrown, 1).error
    }
  }
}

/** The events that a handler may publish: those of its catalog, and none for a record handler. */
export function catalogOf(handler: RecordHandler | EventHandler | BatchHandler): EventCatalog<Schemas> {
  return preparerOf(handler)?.events ?? noEvents
}

const noEvents: EventCatalog<Schemas> = Object.freeze({
  definitions: Object.freeze({}),
  wireFormat: createWireFormat('JSON', 'waybill'),
})
