/** Turns any kind of handler into a function that prepares the handler call for a record. */

import type { Buffer } from 'node:buffer'
import { type EventCatalog, type Logger, noopLogger, type Schemas } from '@waybill/core'
import { createUnknownVersionLog, createWireFormat, type TopicKind } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { Binding } from '../api/binding.ts'
import type { DecodeOption, ValueDecoder } from '../api/decode-option.ts'
import type { BatchHandler, DecodedRecord, RecordFilter, RecordHandler } from '../api/handler-types.ts'
import { isBatchHandler } from '../api/is-batch-handler.ts'
import { batchFailureOf } from './batch-processing-error.ts'
import { prepareDecoded } from './decoded-run.ts'
import type { RecordContext } from './delivery-context.ts'
import { preparerOf } from './handle-events.ts'
import type { Prepared } from './prepared.ts'
import { askFilter } from './record-filter.ts'
import { createValueDecoder } from './value-decoder.ts'

/**
 * Prepares the handler call for a record. Neither throws nor rejects.
 *
 * @param groupId - the binding's group, in its tiers as well
 */
export type Invocation = (record: KafkaRecord, kind: TopicKind, groupId: string) => Prepared | Promise<Prepared>

/** The parts of a binding that decide how a record reaches its handler. */
export interface Handling {
  readonly handler: Binding['handler']
  readonly filter?: RecordFilter | undefined
  readonly decode?: DecodeOption | undefined
}

/**
 * Creates the invocation of a handler, for the records that pass the filter. Unknown versions of events are logged.
 */
export function createInvocation({ handler, filter, decode }: Handling, logger: Logger = noopLogger): Invocation {
  const prepare = invocationOf(handler, decode, logger)
  if (filter === undefined) return prepare
  return (record, kind, groupId) => askFilter(filter, record) ?? prepare(record, kind, groupId)
}

function invocationOf(handler: Binding['handler'], decode: DecodeOption | undefined, logger: Logger): Invocation {
  const events = preparerOf(handler)
  if (events !== undefined) {
    const reportUnknown = createUnknownVersionLog(logger)
    return (record, kind, groupId) => events.prepare(record, kind, groupId, reportUnknown)
  }
  const handle = isBatchHandler(handler) ? oneByOne(handler) : (handler as RecordHandler)
  return decode === undefined ? rawInvocation(handle) : decodingInvocation(handle, createValueDecoder(decode))
}

/** A handler that receives raw records shares one prepared run. */
function rawInvocation(handle: RecordHandler): Invocation {
  // The declaration of the binding ensures the type of `tx`.
  const run = (context: RecordContext<unknown>): Promise<void> | void =>
    handle(context.record, context as RecordContext)
  const prepared: Prepared = Object.freeze({ kind: 'RUN', run })
  return () => prepared
}

function decodingInvocation(handle: RecordHandler, decoder: ValueDecoder): Invocation {
  // The declaration of the binding ensures the types of the value and of `tx`.
  const call = (record: DecodedRecord, context: RecordContext<unknown>): Promise<void> | void =>
    handle(record as DecodedRecord<Buffer>, context as RecordContext)
  return (record) => prepareDecoded(record, decoder, call)
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
export function catalogOf(handler: Binding['handler']): EventCatalog<Schemas> {
  return preparerOf(handler)?.events ?? noEvents
}

const noEvents: EventCatalog<Schemas> = Object.freeze({
  definitions: Object.freeze({}),
  wireFormat: createWireFormat('JSON', 'waybill'),
})
