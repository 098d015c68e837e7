import { StateError } from '../../errors.ts'
import type { Schemas } from '../../event/catalog.ts'
import { resolveOptions } from '../../option/resolve-options.ts'
import { uniqueOwner } from '../claim/lease-versions.ts'
import { assembleOutbox, type Outbox, type OutboxAssembly } from '../create-outbox.ts'
import type { WriterOnlyOptions } from '../option/outbox-options.ts'
import { writerOnlyRules } from '../option/outbox-rules.ts'
import { createOutboxTelemetry } from '../outbox-telemetry.ts'
import { ageTasks } from '../purge/purge-scheduler.ts'
import { createRowWriter } from '../write/writer.ts'
import { purgePart } from './purge-part.ts'

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
        next: 'Ask whoever reads the table, or run a mode that delivers.',
      })
    },
    lookNow: () => {}, // Nobody here looks.
    parts: purge === false ? [] : [purgePart({ ...purge, database, store, runtime, owner, tasks: ageTasks(purge) })],
  })
}
