import type { Schemas } from '../../event/catalog.ts'
import type { EventEnvelope } from '../../event/envelope.ts'
import { uniqueOwner } from '../claim/lease-versions.ts'
import { assembleOutbox, type Outbox, type OutboxPart } from '../create-outbox.ts'
import type { ResolvedRelayOptions } from '../option/resolved-options.ts'
import type { OutboxStore } from '../outbox-store.ts'
import { createOutboxTelemetry, type OutboxTelemetry } from '../outbox-telemetry.ts'
import { PublicationWatch } from '../published/publication-watch.ts'
import { finishedTasks } from '../purge/purge-scheduler.ts'
import type { WakeUp } from '../wake-up/wake-up.ts'
import { WakeUpPart } from '../wake-up/wake-up-part.ts'
import type { HotPath } from '../write/hot-path.ts'
import { createRowWriter } from '../write/writer.ts'
import type { WriterHook } from '../write/writer-hook.ts'
import { ModeMark } from './mode-mark.ts'
import type { ModeTerm } from './mode-term.ts'
import { purgePart } from './purge-part.ts'

/** What every mode that delivers is put together from, whatever its engine. */
export interface DeliveringSettings
  extends Pick<
    ResolvedRelayOptions,
    'events' | 'database' | 'store' | 'listeners' | 'runtime' | 'metricsPrefix' | 'whenDone' | 'purge'
  > {
  readonly hook: WriterHook | undefined
  /** Undefined: rows of other nodes are found by polling. */
  readonly wakeUp?: WakeUp | undefined
  /** Names this node; made unique here. */
  readonly owner: string
}

/** What takes rows from the table to the listeners. */
export interface DeliveryEngine extends OutboxPart {
  /** Undefined: rows are only found in the table. */
  readonly hotPath: HotPath | undefined
  /**
   * Rows were committed on this node, whether the hot path took them or not.
   * @returns whether other nodes have to deliver some of them
   */
  committed(events: readonly EventEnvelope[], seqs: readonly bigint[], availableAt: number | null): boolean
  /** Other nodes committed something. */
  wake(): void
  /** Something lies where no look comes by soon. */
  sweep(): void
  /** Another mode may have the table: gives up what is held in memory, and tells the listeners that run (C-80). */
  modeShut(): void
}

/** What an engine is made of, besides what its own mode knows. */
export interface EngineParts {
  /** Has nothing to take while another mode has the table. */
  readonly store: OutboxStore
  /** Whether this mode has the table at this monotonic time: without it nothing is started, wherever it came from (C-80). */
  readonly isModeOpen: (nowMs: number) => boolean
  /** What is taken now is taken in it, and not started once it is over. */
  readonly modeTerm: () => ModeTerm
  /** Unique per process. */
  readonly owner: string
  readonly telemetry: OutboxTelemetry
  /** An event reached its end here. */
  readonly finished: (eventId: string, state: 'DONE' | 'DEAD') => void
}

/** Assembles a mode that delivers: writer, engine, published() and purge. */
export function createDeliveringOutbox<S extends Schemas, Tx>(
  mode: string,
  settings: DeliveringSettings,
  engineOf: (parts: EngineParts) => DeliveryEngine,
): Outbox<S, Tx> {
  const { database, store, listeners, runtime, metricsPrefix, hook, whenDone, purge, wakeUp } = settings
  const owner = uniqueOwner(settings.owner, runtime)
  const telemetry = createOutboxTelemetry(metricsPrefix, runtime)
  const publications = new PublicationWatch({ database, store, whenDone, runtime })
  const mark = new ModeMark({ mode, database, store, runtime, shut: () => engine.modeShut() })
  const engine: DeliveryEngine = engineOf({
    store: mark.store,
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
    runtime,
    hotPath: engine.hotPath,
    watch: {
      opened: (events) => publications.opened(events),
      committed(events, { seqs, areBoundToCommit }, availableAt) {
        publications.committed(events, areBoundToCommit)
        if (engine.committed(events, seqs, availableAt)) wakeUpPart?.announce()
      },
      notCommitted: (events, end) => publications.notCommitted(events, end),
    },
  })
  return assembleOutbox<S, Tx>({
    ...(settings as unknown as Pick<Parameters<typeof assembleOutbox<S, Tx>>[0], 'events' | 'database'>),
    name: mode,
    runtime,
    writeRows,
    published: (id, options) => publications.published(id, options),
    lookNow: () => engine.sweep(),
    parts: [
      publicationPart(publications),
      mark,
      engine,
      ...(wakeUpPart === undefined ? [] : [wakeUpPart]),
      // Where something delivers, only finished rows are purged (C-39).
      ...(purge === false
        ? []
        : [purgePart({ ...purge, database, store, runtime, owner, tasks: finishedTasks(purge) })]),
    ],
  })
}

function publicationPart(publications: PublicationWatch): OutboxPart {
  return { name: 'publication watch', start: () => publications.start(), stop: () => publications.stop() }
}
