/** How the engine calls a binding's handler, of whichever kind it is. */

import { createWireFormat, type EventCatalog, type Schemas, type TopicKind } from '@waybill/core'
import type { KafkaRecord } from '../../client/types.ts'
import type { RecordHandler } from '../binding.ts'
import type { EventHandler } from './event-handler.ts'
import { preparerOf } from './handle-events.ts'
import type { Prepared } from './prepared.ts'

/**
 * What there is to do with a record. Neither throws nor rejects.
 *
 * @param groupId the binding's group, on its tiers too.
 */
export type Invocation = (record: KafkaRecord, kind: TopicKind, groupId: string) => Prepared | Promise<Prepared>

/** A record handler gets every record as it is, so there is nothing to prepare and nothing to allocate. */
export function createInvocation(handler: RecordHandler | EventHandler): Invocation {
  const events = preparerOf(handler)
  if (events !== undefined) return (record, kind, groupId) => events.prepare(record, kind, groupId)
  const handle = handler as RecordHandler
  const prepared: Prepared = Object.freeze({ kind: 'RUN', run: (context) => handle(context.record, context) })
  return () => prepared
}

/** The events that a handler may publish: those of its catalog, and none for a record handler. */
export function catalogOf(handler: RecordHandler | EventHandler): EventCatalog<Schemas> {
  return preparerOf(handler)?.events ?? noEvents
}

const noEvents: EventCatalog<Schemas> = Object.freeze({
  definitions: Object.freeze({}),
  wireFormat: createWireFormat('JSON', 'waybill'),
})
