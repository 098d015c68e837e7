/** Publishes catalog events as outputs of a transaction. */

import { createUlidGenerator, type EventCatalog, type InputOf, type Runtime, type Schemas } from '@waybill/core'
import { type EventMeta } from '@waybill/core/internal'
import type { Publisher } from '@waybill/kafka'
import { recordOfEvent, tracedMeta } from '@waybill/kafka/internal'
import type { CallOutputs } from './outputs.ts'

/** Creates the publisher of one handler call. */
export type OutputPublishing = (outputs: CallOutputs) => Publisher<Schemas>

/** Creates publishers that add events to the outputs of a call, which are written if the call succeeds. */
export function createOutputPublishing(events: EventCatalog<Schemas>, runtime: Runtime): OutputPublishing {
  const sources = { clock: runtime.clock, nextId: createUlidGenerator(runtime) }
  return (outputs) => ({
    async publish<N extends string>(name: N, payload: InputOf<Schemas, N>, meta?: EventMeta): Promise<string> {
      const { meta: traced, span } = tracedMeta(runtime.tracer, name, meta)
      try {
        const { record, eventId } = await recordOfEvent(events, name, payload, traced, sources)
        outputs.send(record)
        span?.end()
        return eventId
      } catch (error) {
        span?.end(error)
        throw error
      }
    },
  })
}
