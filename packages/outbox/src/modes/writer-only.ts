import { type Schemas, StateError } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { uniqueOwner } from '../claim/lease-versions.ts'
import { DatabaseWatch } from '../health/database-watch.ts'
import { OutboxWatch } from '../health/outbox-watch.ts'
import { createOutboxTelemetry } from '../loops/outbox-telemetry.ts'
import type { WriterOnlyOptions } from '../options/outbox-options.ts'
import { writerOnlyRules } from '../options/outbox-rules.ts'
import { purgePart } from '../upkeep/purge-part.ts'
import { ageTasks } from '../upkeep/purge-scheduler.ts'
import { createRowWriter } from '../write/writer.ts'
import { assembleOutbox, type Outbox, type OutboxAssembly } from './assemble-outbox.ts'

const mode = 'Outbox.writerOnly'

/** Creates an outbox that only writes: change data capture or another process reads the table. */
export function writerOnly<S extends Schemas, Tx>(options: WriterOnlyOptions<S, Tx>): Outbox<S, Tx> {
  const { store, database, metricsPrefix, runtime, purge, events } = resolveOptions(mode, writerOnlyRules, options)
  const owner = uniqueOwner('writer', runtime)
  const telemetry = createOutboxTelemetry(metricsPrefix, runtime)
  const databaseWatch = new DatabaseWatch(database, runtime.clock)
  const watch = new OutboxWatch({
    mode,
    outbox: metricsPrefix,
    database: databaseWatch,
    store,
    stallAfterMs: Number.POSITIVE_INFINITY, // It delivers nothing that could stall.
    telemetry,
    delivery: undefined,
    runtime,
  })
  return assembleOutbox<S, Tx>({
    ...({ events, database } as unknown as Pick<OutboxAssembly<S, Tx>, 'events' | 'database'>),
    name: mode,
    runtime,
    writeRows: createRowWriter({ store, telemetry, name: metricsPrefix, runtime }),
    published: async () => {
      throw new StateError(`${mode} cannot report publication: it does not deliver events or mark rows as delivered.`, {
        hint: 'Query the reader of the table, or run a mode that delivers.',
      })
    },
    lookNow: () => {}, // It never scans the table.
    watch,
    parts: [
      watch,
      ...(purge === false
        ? []
        : [
            purgePart({
              ...purge,
              database: databaseWatch.database,
              store,
              runtime,
              owner,
              tasks: ageTasks(purge),
            }),
          ]),
    ],
  })
}
