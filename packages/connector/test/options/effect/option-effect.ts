/** Effects of options: each is observed once with an unusual value and once without it, and the two differ. */

import { Buffer } from 'node:buffer'
import { createKafkaClient, type KafkaClient, type KafkaRecord } from '@waybill/kafka'
import { createSimCluster, type SimCluster } from '@waybill/sim'
import { intercepted, RequestLog } from '@waybill/test-support/kafka'
import type { Binding } from '../../../src/api/binding.ts'
import type { PartitionStatus } from '../../../src/api/binding-view.ts'
import type { Connector } from '../../../src/api/connector.ts'
import type { DeliveryContext } from '../../../src/api/handler-types.ts'
import { createConnector } from '../../../src/engine/create-connector.ts'
import { topicValues } from '../../delivery/topic-records.ts'
import { type ConnectorWorld, connectorWorld } from '../../support/connector-world.ts'
import { openAdministration } from '../../support/open-administration.ts'

/** Options of a binding, deep: those of a case are merged. */
export type Given = Partial<Binding>

/** The effect of an option. Options with state, such as stores, are created anew for each run. */
export interface OptionEffect {
  /** The path on the reference page. */
  readonly path: string
  /** Options of both runs. */
  readonly given?: () => Given
  /** Sets the option alone. */
  readonly unusual: () => Given
  /** Partitions of the topic `orders`. @defaultValue 1 */
  readonly partitions?: number
  /** Starts the binding, and returns what an observer sees. */
  readonly observe: (scene: EffectScene) => Promise<unknown>
  readonly seen: unknown
  /** With the default of the option. */
  readonly usually: unknown
}

/** One call of the handler. */
export interface Call {
  readonly value: string
  readonly tier: number
  readonly atMs: number
}

/** Decides how the handler behaves for a value: by default it fails if the value begins with `bad`. */
export type Behaviour = (value: string, context: DeliveryContext, call: number) => unknown

const failsForBad: Behaviour = (value) => {
  if (value.startsWith('bad')) throw new RangeError('a secret of the record')
}

/** A binding named `shipping` of the topic `orders`, and what it does. */
export class EffectScene {
  readonly world: ConnectorWorld
  readonly second: SimCluster
  readonly requests = new RequestLog()
  readonly calls: Call[] = []
  behave: Behaviour = failsForBad
  /** Holds the poll loop after each poll. */
  failpoint: (() => Promise<void>) | undefined
  running = 0
  mostRunning = 0
  readonly #binding: Given
  readonly #clients: Readonly<Record<'default' | 'second', KafkaClient>>
  #bus: Connector | undefined

  constructor(world: ConnectorWorld, stack: AsyncDisposableStack, binding: Given) {
    const { runtime, sim } = world
    this.world = world
    this.#binding = binding
    this.second = createSimCluster({ brokers: 1, runtime })
    const open = (cluster: SimCluster, name: string): KafkaClient =>
      stack.use(
        createKafkaClient({
          brokers: cluster.brokers,
          transport: intercepted(cluster.transport(name), this.requests.watch),
          clientId: name,
          runtime,
        }),
      )
    this.#clients = { default: open(sim, 'connector'), second: open(this.second, 'connector') }
    stack.defer(() => this.#bus?.stop({ deadlineMs: 0 }).catch(() => {}))
  }

  get bus(): Connector {
    if (this.#bus === undefined) throw new Error('Call start() first.')
    return this.#bus
  }

  get now(): number {
    return this.world.runtime.clock.monotonic()
  }

  get values(): string[] {
    return this.calls.map(({ value }) => value)
  }

  /** Starts the binding, and waits until it reads its partitions. */
  async start(): Promise<this> {
    const binding: Binding = { topic: 'orders', groupId: 'g', handler: this.#handle, ...this.#binding }
    const { runtime } = this.world
    this.#bus = createConnector({
      bindings: { shipping: binding },
      clusters: this.#clients,
      administration: openAdministration,
      runtime: { ...runtime, failpoint: (name) => (name === 'fetch.received' ? this.failpoint?.() : undefined) },
    })
    await this.#bus.start()
    await this.sleep(2_000)
    return this
  }

  /** Writes values, then lets time pass. */
  async write(values: readonly string[], afterMs = 5_000): Promise<this> {
    await this.world.write('orders', values, 0, (value) => `key ${value.slice(-1)}`)
    await this.sleep(afterMs)
    return this
  }

  sleep(ms: number): Promise<void> {
    return this.world.sleep(ms)
  }

  /** The names of the topics whose names begin with a text. */
  async topics(prefix = 'orders.'): Promise<string[]> {
    return (await this.#clients.default.admin.listTopics()).filter((name) => name.startsWith(prefix)).toSorted()
  }

  /** How often the handler was called for a value. */
  callsOf(value: string, tier?: number): number {
    return this.calls.filter((one) => one.value === value && (tier === undefined || one.tier === tier)).length
  }

  /** The times between the calls, in seconds. */
  gaps(): number[] {
    return this.calls.slice(1).map(({ atMs }, at) => (atMs - (this.calls[at]?.atMs ?? 0)) / 1_000)
  }

  dead(topic = 'orders.DLT'): number {
    return topicValues(this.world.sim, topic).length
  }

  /** The status of the first partition of the source. */
  get partition(): PartitionStatus | undefined {
    return this.bus.admin.binding('shipping').containers[0]?.members[0]?.partitions[0]
  }

  /** The committed offsets of the source, in the order of the commits. */
  commits(): number[] {
    const own = this.world.commits.flatMap((commit) => commit.offsets.filter(({ topic }) => topic === 'orders'))
    return own.map(({ offset }) => Number(offset)).filter((offset, at, all) => offset > 0 && offset !== all[at - 1])
  }

  readonly #handle = async (record: KafkaRecord, context: DeliveryContext): Promise<void> => {
    const value = Buffer.isBuffer(record.value) ? String(record.value) : JSON.stringify(record.value)
    const call = this.calls.push({ value, tier: context.tier, atMs: this.now })
    this.running++
    this.mostRunning = Math.max(this.mostRunning, this.running)
    try {
      await this.behave(value, context, call)
    } finally {
      this.running--
    }
  }
}

/** Observes an effect once, with the option or without it. */
export async function observed(effect: OptionEffect, isUnusual: boolean): Promise<unknown> {
  let seen: unknown
  await connectorWorld(async (world) => {
    await using stack = new AsyncDisposableStack()
    world.sim.createTopic('orders', { partitions: effect.partitions ?? 1 })
    const binding = merged(effect.given?.() ?? {}, isUnusual ? effect.unusual() : {})
    const scene = new EffectScene(world, stack, binding)
    seen = await effect.observe(scene)
  })
  return seen
}

function merged(some: object, others: object): Given {
  const result: Record<string, unknown> = { ...some }
  for (const [name, value] of Object.entries(others)) {
    const before = result[name]
    result[name] = isPlain(before) && isPlain(value) ? merged(before, value) : value
  }
  return result
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
