import type { Schemas } from '@waybill/core'
import type { WakeUp } from '../api/wake-up.ts'
import type { WriterHook } from '../api/writer-hook.ts'
import { uniqueOwner } from '../claim/lease-versions.ts'
import type { DeliveryEngine, EngineParts } from '../dispatch/delivery-engine.ts'
import { DatabaseWatch } from '../health/database-watch.ts'
import { OutboxWatch } from '../health/outbox-watch.ts'
import { ProgressWatch } from '../health/progress-watch.ts'
import { EngineConnections } from '../loops/engine-connections.ts'
import type { OutboxPart } from '../loops/outbox-part.ts'
import { createOutboxTelemetry } from '../loops/outbox-telemetry.ts'
import type { ResolvedRelayOptions } from '../options/resolved-options.ts'
import { PublicationWatch } from '../upkeep/publication-watch.ts'
import { purgePart } from '../upkeep/purge-part.ts'
import { finishedTasks } from '../upkeep/purge-scheduler.ts'
import { WakeUpPart } from '../upkeep/wake-up-part.ts'
import { createRowWriter } from '../write/writer.ts'
import { assembleOutbox, type Outbox } from './assemble-outbox.ts'
import { ModeMark } from './mode-mark.ts'

/** The settings of every mode that delivers. */
export interface DeliveringSettings
  extends Pick<
    ResolvedRelayOptions,
    'events' | 'database' | 'store' | 'listeners' | 'runtime' | 'metricsPrefix' | 'whenDone' | 'purge' | 'stallAfterMs'
  > {
  readonly hook: WriterHook | undefined
  /** Undefined: polling finds the rows of other nodes. */
  readonly wakeUp?: WakeUp | undefined
  /** The name of this node; a suffix makes it unique. */
  readonly owner: string
}

/** Assembles a mode that delivers: writer, engine, published() and purge. */
export function createDeliveringOutbox<S extends Schemas, Tx>(
  mode: string,
  settings: DeliveringSettings,
  engineOf: (parts: EngineParts) => DeliveryEngine,
): Outbox<S, Tx> {
  const { store, listeners, runtime, metricsPrefix, hook, whenDone, purge, wakeUp, stallAfterMs } = settings
  const owner = uniqueOwner(settings.owner, runtime)
  const connections = new EngineConnections({ outbox: metricsPrefix, database: settings.database, runtime })
  const databaseWatch = new DatabaseWatch(connections.database, runtime.clock)
  const { database } = databaseWatch
  const leaseDatabase = databaseWatch.observe(connections.leaseDatabase)
  // A purge may take long, and would delay renewals on the kept connection.
  const pool = databaseWatch.observe(settings.database)
  const progress = new ProgressWatch(runtime.clock)
  const telemetry = progress.telemetry(createOutboxTelemetry(metricsPrefix, runtime))
  const publications = new PublicationWatch({
    database,
    store,
    whenDone,
    runtime,
    waitOf: (eventId) => engine.destinations.waitOf(eventId),
  })
  const mark = new ModeMark({ mode, database: leaseDatabase, store, runtime, shut: () => engine.modeShut() })
  const engine: DeliveryEngine = engineOf({
    database,
    leaseDatabase,
    store: progress.store(mark.store),
    isModeOpen: (nowMs) => mark.isOpenAt(nowMs),
    modeTerm: () => mark.term,
    owner,
    telemetry,
    finished: (eventId, state) => publications.finished(eventId, state),
  })
  const wakeUpPart = wakeUp === undefined ? undefined : new WakeUpPart({ wakeUp, runtime, wake: () => engine.wake() })
  const writeRows = createRowWriter({
    store,
    hook,
    check: listeners.checkWrite === undefined ? undefined : (event) => listeners.checkWrite?.(event),
    telemetry,
    name: metricsPrefix,
    runtime,
    hotPath: engine.hotPath,
    observer: {
      opened: (events) => publications.opened(events),
      committed(events, { seqs, areBoundToCommit }, availableAt) {
        publications.committed(events, areBoundToCommit)
        if (engine.committed(events, seqs, availableAt)) wakeUpPart?.announce()
      },
      notCommitted: (events, end) => publications.notCommitted(events, end),
    },
  })
  const watch = new OutboxWatch({
    mode,
    outbox: metricsPrefix,
    database: databaseWatch,
    store,
    stallAfterMs,
    telemetry,
    delivery: {
      engine,
      progress,
      otherMode: () => mark.otherMode,
      shortage: () => connections.shortage,
      unavailable: () => engine.destinations.unavailable(),
    },
    runtime,
  })
  return assembleOutbox<S, Tx>({
    ...(settings as unknown as Pick<Parameters<typeof assembleOutbox<S, Tx>>[0], 'events' | 'database'>),
    name: mode,
    runtime,
    writeRows,
    published: (id, options) => publications.published(id, options),
    lookNow: () => engine.sweep(),
    watch,
    parts: [
      publicationPart(publications),
      connections,
      mark,
      engine,
      watch,
      ...(wakeUpPart === undefined ? [] : [wakeUpPart]),
      // A mode that delivers purges only settled rows.
      ...(purge === false
        ? []
        : [purgePart({ ...purge, database: pool, store, runtime, owner, tasks: finishedTasks(purge) })]),
    ],
  })
}

function publicationPart(publications: PublicationWatch): OutboxPart {
  return { name: 'publication watch', start: () => publications.start(), stop: () => publications.stop() }
}
