import { type BatchHandler, BatchProcessingError, type Binding, type StartOffsets } from '@waybill/connector'
import { type Runtime, type Schemas, StateError } from '@waybill/core'
import {
  createUnknownVersionLog,
  type ProjectionStore,
  runtimeRule,
  type UnknownVersionReport,
} from '@waybill/core/internal'
import { hasMethods, instance, resolveOptions } from '@waybill/core/option'
import type { KafkaRecord } from '@waybill/kafka'
import type { AnyProjection, Projection } from '../definition/projection.ts'
import { topicsOf } from '../definition/topics-of.ts'
import { decodeRecords } from '../fold/decode-records.ts'
import type { AnyProjectedEvent, FoldStop } from '../fold/fold-batch.ts'
import { type ApplyResult, applyBatch, type PlacedEvent, passOver, type RecordPlace } from './apply-batch.ts'
import { type KnownBuild, openLive } from './live-build.ts'
import { previousRule } from './previous-rule.ts'
import { ProjectionTelemetry } from './projection-telemetry.ts'

/** Options of {@link createProjector}. */
export interface ProjectorOptions {
  /** `createProjectionStore(database)` of @waybill/sql, or a store in memory. */
  readonly store: ProjectionStore
  /**
   * Former revisions of the projection. While one of them is live, its fold is used, so that events are applied until a
   * rebuild has switched to the new revision.
   */
  readonly previous?: readonly AnyProjection[] | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** Feeds a projection with the records of its topics. */
export interface Projector extends BatchHandler {
  /**
   * Creates the table and the view of the projection, unless they exist. The first batch does so too; call this before
   * anything queries the view.
   */
  prepare(): Promise<void>
  /**
   * Returns a binding that feeds the projection: in batches, blocking its partition while the database is not available, and
   * without a limit of attempts. Other options of a binding can be set.
   */
  binding(options: Pick<Binding, 'groupId'> & Partial<Omit<Binding, 'handler'>>): Binding
  /**
   * Returns the positions that are stored with the rows. A binding of a projection by POSITION uses it; with versions, set it
   * to read again after a restore of the database, at the cost of repeated dead letters behind the last row that was written.
   */
  readonly startOffsets: StartOffsets
}

/**
 * Creates the projector of a projection. One transaction applies the events of a batch; repeats are skipped, and an event
 * that cannot be applied becomes a dead letter with all later events of its key.
 *
 * @throws OptionsError with all violations
 */
export function createProjector<S extends Schemas, State>(
  projection: Projection<S, State>,
  options: ProjectorOptions,
): Projector {
  const { store, previous, runtime } = resolveOptions('createProjector', optionRules, options)
  return new BatchProjector([projection, ...previous] as unknown as Projections, store, runtime)
}

const optionRules = {
  store: instance<ProjectionStore>('a store of projections', (value) => hasMethods(value, 'transaction', 'read')),
  previous: previousRule,
  runtime: runtimeRule,
}

/** Larger than the usual batch: one transaction costs as much as a few hundred rows. */
const recordsPerBatch = 500

/** The first records behind a dead letter. */
const recordsBehindDead = 4

/** Each try finds what the last one met: builds and keys change rarely. */
const mostTries = 5

/** The revisions that a process knows, the newest first. Their types do not matter beyond the declaration. */
type Projections = readonly [Projection<Schemas, unknown>, ...Projection<Schemas, unknown>[]]

class BatchProjector implements Projector {
  readonly #projections: Projections
  readonly #store: ProjectionStore
  readonly #telemetry: ProjectionTelemetry
  readonly #reportUnknown: UnknownVersionReport
  #live: KnownBuild | undefined
  #opening: Promise<KnownBuild> | undefined
  /** Records behind dead letters, which arrive again. */
  readonly #behindDead = new WeakSet<KafkaRecord>()

  constructor(projections: Projections, store: ProjectionStore, runtime: Runtime) {
    this.#projections = projections
    this.#store = store
    this.#telemetry = new ProjectionTelemetry(projections[0], runtime)
    this.#reportUnknown = createUnknownVersionLog(runtime.logger.child({ projection: projections[0].name }))
  }

  binding(options: Pick<Binding, 'groupId'> & Partial<Omit<Binding, 'handler'>>): Binding {
    return {
      // Those of former revisions too: while one of them is live, its table needs their events.
      topic: [...new Set(this.#projections.flatMap((projection) => [...topicsOf(projection)]))],
      preset: 'PROJECTION',
      listenerType: 'BATCH',
      maxPollRecords: recordsPerBatch,
      ...(this.#projections[0].versions === 'POSITION' ? { startOffsets: this.startOffsets } : {}),
      ...options,
      handler: this,
    }
  }

  readonly startOffsets: StartOffsets = async (asked) => {
    const { build } = await this.#open()
    const positions = await this.#store.positions(build)
    return asked.map(({ topic, partition }) => {
      const stored = positions.find((one) => one.topic === topic && one.partition === partition)
      return { topic, partition, offset: stored?.next ?? 0n }
    })
  }

  async prepare(): Promise<void> {
    this.#live = await this.#open()
  }

  /**
   * Applies records in one transaction. Behind a dead letter the rest of its batch arrives again: a few records first, then
   * twice as many each time, because each further dead letter ends a call.
   */
  async handleBatch(records: readonly KafkaRecord[]): Promise<void> {
    const [first] = records
    let size = first !== undefined && this.#behindDead.has(first) ? recordsBehindDead : records.length
    for (let from = 0; from < records.length; from += size, size *= 2)
      await this.#applyPart(records, from, records.slice(from, from + size))
  }

  async #applyPart(records: readonly KafkaRecord[], from: number, part: readonly KafkaRecord[]): Promise<void> {
    for (let tries = 1; tries <= mostTries; tries++) {
      const stop = await this.#apply(part)
      if (stop === 'MOVED') continue
      if (stop === undefined) return
      const index = from + stop.index
      const next = records[index + 1]
      if (next !== undefined) this.#behindDead.add(next)
      throw new BatchProcessingError(index, { cause: stop.error }, records.length)
    }
    throw new StateError(
      `Projection ${this.#projections[0].name}: its builds or keys changed ${mostTries} times meanwhile`,
      {
        impact: 'Nothing was applied. The batch is delivered again; no event is lost.',
      },
    )
  }

  /** The first batches of several partitions arrive at once: one of them opens the table, and creates it. */
  #open(): Promise<KnownBuild> {
    return (this.#opening ??= openLive(this.#store, this.#projections).finally(() => {
      this.#opening = undefined
    }))
  }

  /** Returns the first record that cannot be applied. MOVED: nothing was applied, because something else changed first. */
  async #apply(records: readonly KafkaRecord[]): Promise<Pick<FoldStop, 'index' | 'error'> | 'MOVED' | undefined> {
    const live = (this.#live ??= await this.#open())
    const foreign = new Set([...new Set(records.map(({ topic }) => topic))].filter((one) => this.#isOfOther(one, live)))
    const others = foreign.size === 0 ? [] : records.filter(({ topic }) => foreign.has(topic))
    const own = foreign.size === 0 ? records : records.filter(({ topic }) => !foreign.has(topic))
    const decoded = await decodeRecords(live.projection, own, this.#reportUnknown)
    const [placed, dead] = [placedEvents(decoded.events, own), decoded.error && own[decoded.events.length]]
    const result = await this.#write(live, placed, dead && placeOf(dead), others).catch((error: unknown) => {
      // Its table may have been dropped since another one became live.
      this.#live = undefined
      throw error
    })
    if (result === 'MOVED') {
      this.#live = undefined
      return 'MOVED'
    }
    await this.#report(live, result, others.length)
    if (result.stop === undefined && decoded.error !== undefined) this.#telemetry.unreadable()
    const stop = result.stop ?? (decoded.error && { index: decoded.events.length, error: decoded.error })
    return stop && { error: stop.error, index: records.indexOf(own[stop.index] as KafkaRecord) }
  }

  async #write(
    live: KnownBuild,
    placed: readonly PlacedEvent[],
    dead: RecordPlace | undefined,
    others: readonly KafkaRecord[],
  ): Promise<ApplyResult> {
    if (others.length > 0 && (await passOver(this.#store, live, others.map(placeOf))) === 'MOVED') return 'MOVED'
    return applyBatch(this.#store, live, placed, dead)
  }

  /** Returns whether only another revision than the live one reads a topic. */
  #isOfOther(topic: string, { projection }: KnownBuild): boolean {
    if (this.#projections.length === 1 || topicsOf(projection).has(topic)) return false
    return this.#projections.some((one) => topicsOf(one).has(topic))
  }

  async #report(
    live: KnownBuild,
    { applied, repeated, rows, stop }: Exclude<ApplyResult, 'MOVED'>,
    passed: number,
  ): Promise<void> {
    this.#telemetry.applied(applied, repeated, rows.length)
    if (passed > 0) this.#telemetry.passed(passed)
    if (stop !== undefined) this.#telemetry.stopped(stop)
    if (live.projection.versions === 'POSITION') return
    const isNew = stop?.reason === 'GAP' || stop?.reason === 'POISON'
    if (isNew || this.#telemetry.isCountDue()) this.#telemetry.counted(await this.#store.countQuarantined(live.build))
  }
}

function placeOf({ topic, partition, offset }: KafkaRecord): RecordPlace {
  return { topic, partition, offset }
}

function placedEvents(events: readonly AnyProjectedEvent[], records: readonly KafkaRecord[]): readonly PlacedEvent[] {
  return events.map((event, index) => ({ event, ...placeOf(records[index] as KafkaRecord) }))
}
