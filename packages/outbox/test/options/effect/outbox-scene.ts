/** Effects of options: each is observed once with an unusual value and once without it, and the two differ. */

import { createEnvelope, onEngineEvent } from '@waybill/core'
import type { CircuitState } from '@waybill/core/internal'
import { Outbox, type OutboxStore } from '@waybill/outbox'
import { createHarness, type OutboxHarness, orderEvent } from '../../support/outbox-harness.ts'

/** The modes, as their factories are called. */
export type Mode = 'singleNode' | 'multiNode' | 'keyed' | 'leasing' | 'ordered' | 'writerOnly'

/** The effect of an option. */
export interface OutboxEffect {
  /** The section of the reference page. */
  readonly section: string
  readonly path: string
  readonly mode: Mode
  /** Options of both runs. */
  readonly given?: object
  /** Sets the option alone. */
  readonly unusual: object
  readonly observe: (scene: OutboxScene) => Promise<unknown>
  readonly seen: unknown
  /** With the default of the option. */
  readonly usually: unknown
}

interface AnyOutbox {
  start(): Promise<void>
  stop(options?: { readonly deadlineMs?: number }): Promise<void>
  write(tx: unknown, type: 'order.placed', payload: object): Promise<string>
  health(): { readonly status: string }
}

/** An outbox with a table in memory, and what it does. */
export class OutboxScene {
  readonly harness: OutboxHarness = createHarness()
  /** The calls of the store, with their arguments behind the connection. */
  readonly calls: { readonly name: string; readonly given: readonly unknown[] }[] = []
  readonly breaker: CircuitState[] = []
  running = 0
  readonly #mode: Mode
  readonly #options: object
  #outbox: AnyOutbox | undefined

  constructor(mode: Mode, options: object) {
    this.#mode = mode
    this.#options = options
  }

  get outbox(): AnyOutbox {
    if (this.#outbox === undefined) throw new Error('Call start() first.')
    return this.#outbox
  }

  get delivered(): string[] {
    return this.harness.deliveredIds()
  }

  get rows(): OutboxHarness['outbox']['rows'] {
    return this.harness.outbox.rows
  }

  /** Starts the outbox, and lets time pass. */
  async start(afterMs = 0): Promise<this> {
    const { base } = this.harness
    const required = this.#mode === 'multiNode' ? { claimLocking: { timeoutMs: 30_000 } } : {}
    const { listeners: _, ...writing } = base
    const own = { ...(this.#mode === 'writerOnly' ? writing : base), store: this.#watched(base.store), purge: false }
    const create = Outbox[this.#mode] as unknown as (options: object) => AnyOutbox
    this.#outbox = create(merged(merged(own, required), this.#options))
    await this.#outbox.start()
    return this.sleep(afterMs)
  }

  /** Puts rows into the table, as another node would, and lets time pass. */
  async add(count: number, afterMs = 0, eventType = 'order.placed'): Promise<this> {
    this.harness.outbox.add(...Array.from({ length: count }, (_, n) => orderEvent(n, { eventType })))
    return this.sleep(afterMs)
  }

  /** Puts rows of one key into the table, `event-0` and so on. */
  addOfOneKey(count: number): void {
    for (let n = 0; n < count; n++)
      this.harness.outbox.add(createEnvelope({ ...orderEvent(n), aggregateId: 'the same' }))
  }

  /** Writes events in one transaction, and lets time pass. */
  async write(count: number, afterMs = 0): Promise<this> {
    await this.harness.outbox.transaction(async (tx) => {
      for (let index = 0; index < count; index++) await this.outbox.write(tx, 'order.placed', {})
    })
    return this.sleep(afterMs)
  }

  async sleep(ms: number): Promise<this> {
    await this.harness.runtime.timers.sleep(ms)
    return this
  }

  /** The listener fails each time. */
  failing(): this {
    this.harness.behaviour = () => Promise.reject(new Error('no'))
    return this
  }

  /** The listener never ends. */
  hanging(): this {
    this.harness.behaviour = () => {
      this.running++
      return new Promise(() => {})
    }
    return this
  }

  /** The arguments of the calls of one kind. */
  given<T extends object>(name: keyof OutboxStore, at: number): T[] {
    return this.calls.filter((call) => call.name === name).map((call) => call.given[at] as T)
  }

  rowStatus(): string | undefined {
    return this.rows[0]?.status
  }

  /** Collects the states of the breaker while work runs. */
  async watchBreaker(work: () => Promise<unknown>): Promise<readonly CircuitState[]> {
    using _ = onEngineEvent('breaker:state-changed', ({ to }) => void this.breaker.push(to))
    await work()
    return this.breaker
  }

  #watched(store: OutboxStore): OutboxStore {
    const entries = Object.entries(store) as [string, (...given: unknown[]) => unknown][]
    const watched = entries.map(([name, call]) => [
      name,
      (connection: unknown, ...given: unknown[]) => {
        this.calls.push({ name, given })
        return call(connection, ...given)
      },
    ])
    return Object.fromEntries(watched) as OutboxStore
  }
}

/** Observes an effect once, with the option or without it. */
export async function observed(effect: OutboxEffect, isUnusual: boolean): Promise<unknown> {
  const scene = new OutboxScene(effect.mode, merged(effect.given ?? {}, isUnusual ? effect.unusual : {}))
  let seen: unknown
  await scene.harness.runtime.run(async () => {
    seen = await effect.observe(scene)
    await scene.outbox.stop({ deadlineMs: 0 }).catch(() => {})
  })
  return seen
}

function merged(some: object, others: object): object {
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
