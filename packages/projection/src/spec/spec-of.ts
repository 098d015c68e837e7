/**
 * Tests of a projection in the words of its domain:
 *
 *     await specOf(balances).given(opened).when(credited).thenRow('a', { balance: '15', … })
 *
 * Events run through the production code on a store in memory. The versions of each key count up by themselves.
 */

import assert from 'node:assert/strict'
import { describeThrown, encodeEvent, type InputOf, noopLogger, runtimeWith, type Schemas } from '@waybill/core'
import { definitionOf } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { Projection } from '../definition/projection.ts'
import { createMemoryProjectionStore } from '../memory/memory-projection-store.ts'
import { createProjector } from '../projector/create-projector.ts'
import { deliverAll } from './deliver-all.ts'
import { runChaos } from './run-chaos.ts'

/** An event of a specification: its name, its payload, and a version if it is not the next one of its key. */
export type SpecEvent<S extends Schemas> = {
  readonly [N in keyof S & string]: readonly [
    name: N,
    payload: InputOf<S, N>,
    meta?: { readonly version?: number | undefined },
  ]
}[keyof S & string]

/** A projection, the events that it was given, and its expected rows. Each call returns another one. */
export interface ProjectionSpec<S extends Schemas, State> {
  /** Adds events that happened before. */
  given(...events: readonly SpecEvent<S>[]): ProjectionSpec<S, State>
  /** Adds the events under test. */
  when(...events: readonly SpecEvent<S>[]): ProjectionSpec<S, State>
  /** Delivers the last event again, or the last `count` events. */
  repeated(count?: number): ProjectionSpec<S, State>
  /** Leaves out the last event: the next one of its key has a gap before it. */
  lost(): ProjectionSpec<S, State>
  /** Swaps the last two events. */
  reordered(): ProjectionSpec<S, State>
  /** Requires this row; undefined requires that there is none. */
  thenRow(key: string, state: State | undefined): Promise<void>
  /** Requires that an event becomes a dead letter with an error of this class. */
  thenThrows(error: abstract new (...args: never[]) => Error): Promise<void>
  /**
   * Requires that repeats, other batches, crashes at any step and two consumers at once change nothing: for each seed the
   * rows are those of a quiet run. A failure names its seed.
   */
  thenHoldsUnderChaos(options?: ChaosOptions): Promise<void>
}

/** The runs of {@link ProjectionSpec.thenHoldsUnderChaos}. */
export interface ChaosOptions {
  /** @defaultValue 100 */
  readonly seeds?: number | undefined
  /** @defaultValue 1 */
  readonly firstSeed?: number | undefined
}

/** Begins the specification of a projection. */
export function specOf<S extends Schemas, State>(projection: Projection<S, State>): ProjectionSpec<S, State> {
  return new StoreSpec(projection as unknown as Projection<Schemas, unknown>, [], new Map())
}

/** An event with the version that it has, wherever it is delivered. */
interface PlannedEvent {
  readonly name: string
  readonly payload: unknown
  readonly version: number
}

class StoreSpec implements ProjectionSpec<Schemas, unknown> {
  readonly #projection: Projection<Schemas, unknown>
  readonly #plan: readonly PlannedEvent[]
  /** The last version of each key, those of lost events included. */
  readonly #versions: ReadonlyMap<string, number>

  constructor(
    projection: Projection<Schemas, unknown>,
    plan: readonly PlannedEvent[],
    versions: ReadonlyMap<string, number>,
  ) {
    this.#projection = projection
    this.#plan = plan
    this.#versions = versions
  }

  given(...events: readonly SpecEvent<Schemas>[]): StoreSpec {
    const versions = new Map(this.#versions)
    const planned = events.map(([name, payload, meta]): PlannedEvent => {
      const key = definitionOf(this.#projection.events, name).key(payload) ?? ''
      const version = meta?.version ?? (versions.get(key) ?? 0) + 1
      versions.set(key, Math.max(version, versions.get(key) ?? 0))
      return { name, payload, version }
    })
    return new StoreSpec(this.#projection, [...this.#plan, ...planned], versions)
  }

  when(...events: readonly SpecEvent<Schemas>[]): StoreSpec {
    return this.given(...events)
  }

  repeated(count = 1): StoreSpec {
    return this.#with([...this.#plan, ...this.#plan.slice(-count)])
  }

  lost(): StoreSpec {
    return this.#with(this.#plan.slice(0, -1))
  }

  reordered(): StoreSpec {
    return this.#with([...this.#plan.slice(0, -2), ...this.#plan.slice(-2).toReversed()])
  }

  async thenRow(key: string, state: unknown): Promise<void> {
    const { store } = await this.#run()
    assert.deepEqual(store.find(this.#projection.name, key), state)
  }

  async thenThrows(error: abstract new (...args: never[]) => Error): Promise<void> {
    const { dead } = await this.#run()
    const found = dead.length === 0 ? 'no dead letter' : dead.map((one) => describeThrown(one)).join('; ')
    assert.ok(
      dead.some((one) => one instanceof error),
      `expected a dead letter with ${error.name}, got ${found}`,
    )
  }

  async thenHoldsUnderChaos({ seeds = 100, firstSeed = 1 }: ChaosOptions = {}): Promise<void> {
    const records = await this.#records()
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) await runChaos(this.#projection, records, seed)
  }

  #with(plan: readonly PlannedEvent[]): StoreSpec {
    return new StoreSpec(this.#projection, plan, this.#versions)
  }

  async #run() {
    const store = createMemoryProjectionStore()
    const dead = await deliverAll(createProjector(this.#projection, { store, runtime: quiet }), await this.#records())
    return { store, dead }
  }

  /** Encodes the events as a publisher does. */
  async #records(): Promise<KafkaRecord[]> {
    const { events } = this.#projection
    const records: KafkaRecord[] = []
    for (const { name, payload, version } of this.#plan) {
      const envelope = await encodeEvent(events, name, payload, { aggregateVersion: version })
      const { topic } = definitionOf(events, name)
      const offset = BigInt(records.length)
      records.push({ topic, partition: 0, offset, timestamp: 0, epoch: 1, ...events.wireFormat.encode(envelope) })
    }
    return records
  }
}

/** Dead letters are part of a test: they are no news on standard error. */
const quiet = runtimeWith({ logger: noopLogger })
