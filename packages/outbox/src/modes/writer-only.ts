import { type Schemas, StateError } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { uniqueOwner } from '../claim/lease-versions.ts'
import { createOutboxTelemetry } from '../loops/outbox-telemetry.ts'
import type { WriterOnlyOptions } from '../options/outbox-options.ts'
import { writerOnlyRules } from '../options/outbox-rules.ts'
import { purgePart } from '../upkeep/purge-part.ts'
import { ageTasks } from '../upkeep/purge-scheduler.ts'
import { createRowWriter } from '../write/writer.ts'
import { assembleOutbox, type Outbox, type OutboxAssembly } from './assemble-outbox.ts'

const mode = 'Outbox.writerOnly'

/** Only writes: change data capture or another process reads the table (S1-093, S1-128). */
export function writerOnly<S extends Schemas, Tx>(options: WriterOnlyOptions<S, Tx>): Outbox<S, Tx> {
  const { store, database, metricsPrefix, runtime, purge, events } = resolveOptions(mode, writerOnlyRules, options)
  const owner = uniqueOwner('writer', runtime)
  return assembleOutbox<S, Tx>({
    ...({ events, database } as unknown as Pick<OutboxAssembly<S, Tx>, 'events' | 'database'>),
    name: mode,
    runtime,
    writeRows: createRowWriter({ store, telemetry: createOutboxTelemetry(metricsPrefix, runtime), runtime }),
    published: async () => {
      throw new StateError(`${mode} cannot say what was published: nobody here delivers, or marks rows as delivered.`, {
        hint: 'Ask whoever reads the table, or run a mode that delivers.',
      })
    },
    lookNow: () => {}, // Nobody here looks.
    parts: purge === false ? [] : [purgePart({ ...purge, database, store, runtime, owner, tasks: ageTasks(purge) })],
  })
}
