/**
 * Consumers, operators and rebuilds on one read model: events come late and are released, consumers begin at stored
 * positions or behind those of their group, rebuilds share the work, are killed, rolled back and cancelled, and switch the
 * table under all of them. A reader polls the view all the time. It has random numbers and time of its own.
 */

import { BatchProcessingError } from '@waybill/connector'
import { applicationOperator, noopLogger, runtimeWith, StateError } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import {
  createMemoryProjectionStore,
  createProjector,
  createQuarantine,
  createRebuild,
  type MemoryProjectionStore,
  type Projector,
  type Rebuild,
} from '@waybill/projection'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import { Draw } from '../draw.ts'
import type { Violation } from '../simulation.ts'
import { SimulatedCrash } from './deliver.ts'
import { projectionOf } from './history.ts'
import { drawPlan, LedgerLog, type LedgerPlan } from './ledger.ts'
import { ledgerBroker } from './ledger-broker.ts'
import type { RareState } from './rare-states.ts'
import { ViewReader } from './view-reader.ts'

const operator = applicationOperator()
const administration = { auditLog: { write: () => {} }, permits: () => true }
/** Longer than the lease of a worker. */
const longPauseMs = 40_000

/** The events that a run reports to its caller. */
export interface BuildsObserver {
  readonly step: (name: string) => void
  readonly reach: (state: RareState) => void
}

/** Runs a seed, and returns what a reader must not see. */
export async function runBuilds(seed: number, observer: BuildsObserver): Promise<readonly Violation[]> {
  const virtual = createVirtualRuntime(seed ^ 0x51ed270b)
  const world = new BuildsWorld(virtual, observer)
  await virtual.run(() => world.run(), 4_000_000)
  observer.step(virtual.traceHash)
  return world.violations
}

class BuildsWorld {
  readonly violations: Violation[] = []
  readonly #virtual: VirtualRuntime
  readonly #observer: BuildsObserver
  readonly #draw: Draw
  readonly #plan: LedgerPlan
  readonly #log: LedgerLog
  readonly #store: MemoryProjectionStore
  readonly #committed: number[]
  readonly #dead = new Map<string, KafkaRecord>()
  readonly #kafka: ReturnType<typeof ledgerBroker>
  readonly #projection: ReturnType<typeof projectionOf>
  readonly #failureShare: number
  #isWritten = false
  #isCalm = false
  #isOver = false
  /** Switches that are still wanted. */
  #switches: number

  constructor(virtual: VirtualRuntime, observer: BuildsObserver) {
    this.#virtual = virtual
    this.#observer = observer
    this.#draw = new Draw(virtual.random)
    this.#plan = drawPlan(this.#draw)
    this.#log = new LedgerLog(this.#plan)
    this.#projection = projectionOf(this.#plan.versions, this.#plan.hasSharedKeys)
    this.#committed = this.#log.partitions.map(() => 0)
    this.#failureShare = this.#draw.pick([0, 0.005, 0.03])
    this.#switches = this.#draw.integer(1, 3)
    this.#store = createMemoryProjectionStore({ clock: virtual.clock, pause: (step) => this.#pause(step) })
    this.#kafka = ledgerBroker(this.#log, this.#draw, virtual)
    if (this.#plan.hasSharedKeys) observer.reach('ledger: events of a key are in several partitions')
  }

  async run(): Promise<void> {
    const reader = new ViewReader(this.#plan, (key) => this.#store.find(this.#projection.name, key))
    const polling = this.#poll(reader)
    const consuming = [this.#consume(), this.#consume()]
    await Promise.all([this.#write(), this.#rebuild(), this.#rebuild(), this.#release()])
    this.#isCalm = true
    await this.#drain()
    await this.#end()
    this.#isOver = true
    await Promise.all([polling, ...consuming])
    this.violations.push(...reader.violations.map((what) => ({ invariant: 'I8', what })))
    for (const [key, totals] of this.#plan.totals) {
      const [found, wanted] = [this.#store.find(this.#projection.name, key), totals.at(-1)].map((one) =>
        JSON.stringify(one),
      )
      if (found !== wanted)
        this.violations.push({ invariant: 'I8', what: `in the end, ${key} is ${found} instead of ${wanted}` })
    }
  }

  async #pause(name: string): Promise<void> {
    this.#observer.step(name)
    if (this.#isCalm) return
    if (this.#draw.chance(0.2)) await this.#virtual.timers.sleep(this.#draw.integer(0, 20))
    else for (let turns = this.#draw.integer(0, 4); turns > 0; turns--) await Promise.resolve()
    if (this.#draw.chance(0.001)) {
      this.#observer.reach('rebuild: a step takes longer than a lease')
      await this.#virtual.timers.sleep(longPauseMs)
    }
    if (this.#draw.chance(this.#failureShare)) throw new SimulatedCrash(name)
  }

  async #write(): Promise<void> {
    for (const event of this.#plan.events) {
      if (this.#draw.chance(0.1)) await this.#virtual.timers.sleep(this.#draw.integer(0, 1_500))
      await this.#log.append(event, this.#draw.chance(0.05) ? 1 : 0)
    }
    this.#isWritten = true
  }

  async #poll(reader: ViewReader): Promise<void> {
    while (!this.#isOver) {
      reader.look()
      await this.#virtual.timers.sleep(this.#draw.integer(5, 80))
    }
  }

  get #runtime() {
    return runtimeWith({ ...this.#virtual, logger: noopLogger })
  }

  async #consume(): Promise<void> {
    let projector = createProjector(this.#projection, { store: this.#store, runtime: this.#runtime })
    while (!this.#isOver) {
      try {
        await this.#own(projector, this.#draw.integer(0, this.#log.partitions.length - 1))
      } catch (error) {
        rethrowUnlessCrash(error)
        if (this.#draw.chance(0.5))
          projector = createProjector(this.#projection, { store: this.#store, runtime: this.#runtime })
      }
      await this.#virtual.timers.sleep(this.#draw.integer(1, 60))
    }
  }

  /** One assignment of a partition. The former owner may still be at work. */
  async #own(projector: Projector, partition: number): Promise<void> {
    let next = this.#committed[partition] ?? 0
    if (this.#plan.versions === 'POSITION' || this.#draw.chance(0.1)) {
      const [stored] = await projector.startOffsets([{ topic: 'credits', partition }])
      if (Number(stored?.offset) < next)
        this.#observer.reach('positions: the group has committed more than the database')
      next = Math.min(next, Number(stored?.offset))
    }
    for (let batches = this.#draw.integer(1, 12); batches > 0; batches--) {
      const batch = this.#log.read(partition, next, Number.POSITIVE_INFINITY, this.#draw.integer(1, 20))
      const last = batch.at(-1)
      if (last === undefined) return
      await this.#deliver(projector, batch)
      next = Number(last.offset) + 1
      if (this.#isCalm || this.#draw.chance(0.7)) this.#committed[partition] = next
      // The state after a restore of the database.
      if (this.#plan.versions === 'POSITION' && !this.#isCalm && this.#draw.chance(0.1))
        this.#committed[partition] = Math.min(
          this.#log.partitions[partition]?.end ?? 0,
          next + this.#draw.integer(1, 30),
        )
    }
  }

  /** Delivers a batch as a connector does: nothing starts before a dead letter is written. */
  async #deliver(projector: Projector, records: readonly KafkaRecord[]): Promise<void> {
    for (let left = records; left.length > 0; ) {
      try {
        await projector.handleBatch(left, undefined as never)
        return
      } catch (error) {
        if (!(error instanceof BatchProcessingError)) throw error
        const dead = left[error.failedIndex]
        await this.#pause('dead letter')
        // The broker may be slow.
        if (this.#draw.chance(0.1)) await this.#virtual.timers.sleep(this.#draw.integer(0, 3_000))
        if (dead !== undefined) this.#dead.set(`${dead.partition}-${dead.offset}`, dead)
        left = left.slice(error.failedIndex + 1)
      }
    }
  }

  async #release(): Promise<void> {
    if (this.#plan.versions === 'POSITION') return
    while (!this.#isWritten) {
      await this.#virtual.timers.sleep(this.#draw.integer(100, 4_000))
      await this.#releaseAll().catch(rethrowUnlessCrash)
    }
  }

  async #releaseAll(): Promise<number> {
    const quarantine = createQuarantine(this.#projection, {
      store: this.#store,
      administration,
      runtime: this.#runtime,
    })
    const keys = await quarantine.list({}, operator)
    for (const { key } of keys) {
      this.#observer.reach('gap: it quarantines a key')
      try {
        await quarantine.release(key, eventsOf([...this.#dead.values()]), operator)
        this.#observer.reach('gap: its key is released')
      } catch (error) {
        // An event has not come yet, or its dead letter is not written yet.
        if (!(error instanceof StateError)) throw error
      }
    }
    return keys.length
  }

  async #rebuild(): Promise<void> {
    while (this.#switches > 0) {
      await this.#rebuildOnce().catch(rethrowUnlessOver)
      await this.#virtual.timers.sleep(this.#draw.integer(1, 2_000))
    }
  }

  #rebuildOf(options: { readonly switch: 'WHEN_READY' | 'BY_HAND'; readonly verify: 'ALL' | 0 }): Rebuild {
    const [store, kafka, runtime] = [this.#store, this.#kafka, this.#runtime]
    const workers = this.#draw.integer(1, 2)
    return createRebuild(this.#projection, { store, kafka, runtime, administration, workers, again: true, ...options })
  }

  async #rebuildOnce(): Promise<void> {
    const byHand = this.#draw.chance(0.25)
    const rebuild = this.#rebuildOf({
      switch: byHand ? 'BY_HAND' : 'WHEN_READY',
      verify: this.#draw.chance(0.6) ? 'ALL' : 0,
    })
    if (this.#draw.chance(0.1)) await rebuild.dropRetired(operator)
    if (this.#draw.chance(0.25)) {
      await rebuild.rollBack(operator)
      this.#observer.reach('rebuild: a former table is built on')
    }
    const mostSeen = this.#draw.chance(0.3) ? this.#draw.integer(1, 12) : Number.POSITIVE_INFINITY
    let seen = 0
    for await (const { state } of rebuild.run(operator)) {
      if (state === 'LIVE') return this.#switched()
      if (++seen < mostSeen) continue
      this.#observer.reach('rebuild: it is killed')
      if (this.#draw.chance(0.2)) await rebuild.cancel(operator)
      return
    }
    if (!byHand) return
    await this.#virtual.timers.sleep(this.#draw.integer(0, 10_000))
    await rebuild.switchNow(operator)
    this.#switched()
  }

  #switched(): void {
    this.#switches--
    this.#observer.reach(this.#isWritten ? 'rebuild: it switches' : 'rebuild: it switches while events arrive')
  }

  /** Waits until everything is applied and every key released. */
  async #drain(): Promise<void> {
    for (let rounds = 0; rounds < 2_000; rounds++) {
      const isRead = this.#log.partitions.every(({ records }, partition) => {
        const last = records.at(-1)
        return last === undefined || (this.#committed[partition] ?? 0) > Number(last.offset)
      })
      const left = this.#plan.versions === 'AGGREGATE' ? await this.#releaseAll() : 0
      if (isRead && left === 0) return
      await this.#virtual.timers.sleep(100)
    }
    this.violations.push({ invariant: 'L1', what: 'events or quarantined keys are left when nothing fails any more' })
  }

  /** The table that is live in the end equals one that is built from the log, and a rebuild of a quiet table succeeds. */
  async #end(): Promise<void> {
    const rebuild = this.#rebuildOf({ switch: 'WHEN_READY', verify: 'ALL' })
    try {
      for await (const { state } of rebuild.run(operator)) if (state === 'LIVE') break
    } catch (error) {
      this.violations.push({ invariant: 'I8', what: `the last rebuild: ${String(error)}` })
    }
  }
}

async function* eventsOf(records: readonly KafkaRecord[]): AsyncGenerator<KafkaRecord> {
  yield* records
}

/** @throws anything but a simulated failure */
function rethrowUnlessCrash(error: unknown): void {
  if (!(error instanceof SimulatedCrash)) throw error
}

/** @throws anything but a simulated failure and a refusal because of the state: a rebuild must not fail otherwise */
function rethrowUnlessOver(error: unknown): void {
  if (!(error instanceof StateError)) rethrowUnlessCrash(error)
}
