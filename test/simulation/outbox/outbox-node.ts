/** A process that runs an outbox, from its start to its stop or its death. */

import {
  createEnvelope,
  createMemoryMetrics,
  defineEvents,
  type EventEnvelope,
  LifecycleError,
  type MemoryMetrics,
  StopDeadlineError,
} from '@waybill/core'
import { createListenerRegistry, Outbox, type OutboxStore, SoleNodeError } from '@waybill/outbox'
import type { SimDatabase, SimTx } from '@waybill/sim/internal'
import { ProcessGate } from '../world/process-gate.ts'
import type { Ground, NodeView } from './ground.ts'
import type { OptionPlan } from './option-plan.ts'
import { destinationsOf } from './road-plan.ts'
import { type FinishTally, watchStore } from './watched-store.ts'

/** Runs when the engine reaches a failpoint. */
export type Failpoint = (name: string, node: OutboxNode) => void | Promise<void>

/** How long a process waits before it retries a failed start. */
const startAgainMs = 400

/** A schema that accepts everything: payloads are not simulated. */
const anything = {
  '~standard': {
    version: 1,
    vendor: 'simulation',
    validate: (value: unknown) => ({ value: value as { readonly key: string | null } }),
  },
} as const

interface SimSchemas {
  readonly [name: string]: typeof anything
  readonly 'order.placed': typeof anything
  readonly 'order.lost': typeof anything
}

/** The events of the application. The second has no listener. */
const events = defineEvents<SimSchemas>({
  'order.placed': { topic: 'orders', schema: anything, key: ({ key }) => key },
  'order.lost': { topic: 'orders', schema: anything, key: ({ key }) => key },
})

export type SimOutbox = Outbox<SimSchemas, SimTx>

/** See the file's comment. */
export class OutboxNode implements NodeView {
  readonly name: string
  readonly index: number
  readonly gate: ProcessGate
  readonly database: SimDatabase
  state: 'LIVING' | 'STOPPING' | 'STOPPED' | 'DEAD' = 'LIVING'
  readonly #world: Ground
  readonly #failpoint: Failpoint
  readonly #dead = Promise.withResolvers<void>()
  #outbox: SimOutbox
  #metrics: MemoryMetrics = createMemoryMetrics()
  #tally: FinishTally = noFinishes()
  #isStarted = false
  /** Number of its steps held at a failpoint. */
  #heldUp = 0

  /**
   * @param index - its number among the instances: the same after a restart
   * @param failpoint - called at each failpoint that the engine reaches
   */
  constructor(world: Ground, name: string, index: number, failpoint: Failpoint) {
    this.#world = world
    this.#failpoint = failpoint
    this.name = name
    this.index = index
    this.gate = new ProcessGate(name, world.runtime)
    this.database = world.server.database({ name, receive: (work) => this.gate.receive(work) })
    world.nodes.set(name, this)
    this.#outbox = this.#create()
    void this.#start()
  }

  get outbox(): SimOutbox {
    return this.#outbox
  }

  /** Settles when the process is killed. */
  get dead(): Promise<void> {
    return this.#dead.promise
  }

  get isStarted(): boolean {
    return this.#isStarted && this.state === 'LIVING'
  }

  /** Drains and stops. Settles when the process is over, for any reason. */
  async stop(deadlineMs?: number): Promise<void> {
    if (this.state !== 'LIVING') return
    this.state = 'STOPPING'
    if (this.#world.journal.runningAt(this).length > 0) this.#world.court.reach('stop: listeners run when it begins')
    await Promise.race([this.#stop(deadlineMs), this.#dead.promise])
  }

  kill(): void {
    if (this.state === 'DEAD') return
    const { court, journal, server, book } = this.#world
    if (journal.runningAt(this).length > 0) court.reach('kill: listeners run')
    this.state = 'DEAD'
    const unfinished = book.all.filter(({ arrivals, wasDone }) => arrivals > 0 && !wasDone)
    if (unfinished.length > 0) court.reach('kill: a delivered row is not finished')
    const keys = unfinished.flatMap(({ plan }) => plan.key ?? [])
    if (new Set(keys).size < keys.length) court.reach('kill: several delivered rows of a key are not finished')
    this.gate.kill()
    server.abandon(this.name)
    this.#dead.resolve()
    journal.forget(this)
  }

  /** I17: when idle, the hot queue has its whole capacity. Fills it, and checks that everything fits. */
  async probeHotQueue(): Promise<void> {
    const { program, book, court, journal } = this.#world
    if (!this.isStarted || (program.mode !== 'singleNode' && program.mode !== 'multiNode')) return
    // A listener that ignores its signal keeps its worker even after another node has delivered its event, and so does
    // a step held at a failpoint. A finish that waits to be repeated keeps its event: this node is not idle.
    if (journal.runningAt(this).length > 0 || this.#heldUp > 0 || this.#tally.inDoubt > 0) return
    const dropped = (): number => this.#metrics.total('outbox.enqueue.hot.dropped')
    const before = dropped()
    const ids = Array.from({ length: program.options.hotQueueCapacity }, (_, index) => `probe-${this.name}-${index}`)
    for (const id of ids) book.add({ id, key: null, isLost: false, isBroken: false, delayMs: null, calls: [] })
    const envelopes = ids.map((id) => createEnvelope({ eventId: id, eventType: 'order.placed', payloadJson: '{}' }))
    await this.database.transaction(async () => {
      await this.#outbox.writer.writeAll(envelopes)
    })
    if (dropped() > before)
      court.violate('I17', `${this.name} is at rest, and its hot queue has no room for ${ids.length} events`)
  }

  /** I20: its metrics match the results it received. */
  checkMetrics(): void {
    const { court } = this.#world
    const { fenced, locked, inDoubt: _, ...kinds } = this.#tally
    const measured = (name: string): number => this.#metrics.total(`outbox.${name}`)
    for (const [kind, count] of Object.entries(kinds))
      if (measured(`dispatch.${kind}`) !== count)
        court.violate(
          'I20',
          `${this.name} counts ${measured(`dispatch.${kind}`)} of ${kind}, and its responses add up to ${count}`,
        )
    const counted = measured('finish.fenced')
    // Outcomes that waited for locked rows are given up with their lease, without a response.
    if (counted < fenced || counted > fenced + locked)
      court.violate(
        'I20',
        `${this.name} counts ${measured('finish.fenced')} fenced, and its responses add up to ${fenced}`,
      )
    if (fenced > 0) court.reach('finish: it is fenced')
    if (measured('enqueue.hot.dropped') > 0) court.reach('write: the hot queue is full')
  }

  async #stop(deadlineMs: number | undefined): Promise<void> {
    const { court } = this.#world
    court.note(this.name, () => 'receives a signal to stop')
    try {
      await this.#outbox.stop(deadlineMs === undefined ? {} : { deadlineMs })
      this.#checkStopped()
      this.checkMetrics()
    } catch (error) {
      if (!isDeadline(error)) court.violate('I18', `${this.name} does not stop: ${String(error)}`)
      else court.reach('stop: its deadline passes while listeners run')
      // The application ends the process when it receives this.
      this.kill()
      return
    }
    court.note(this.name, () => 'has stopped')
    this.state = 'STOPPED'
  }

  #checkStopped(): void {
    const { journal, court } = this.#world
    for (const { eventId } of journal.runningAt(this))
      court.violate('I18', `${this.name} has stopped, and its listener still works on ${eventId}`)
    const underWay = this.#world.engineStatements(this.name)
    if (underWay.length > 0) court.violate('I18', `${this.name} has stopped, and waits for ${underWay.join(', ')}`)
  }

  async #start(): Promise<void> {
    const { court } = this.#world
    for (;;) {
      try {
        await this.#outbox.start()
        this.#isStarted = true
        return
      } catch (error) {
        court.note(this.name, () => `cannot start: ${String(error)}`)
        court.reach('start: it fails and is retried')
        if (error instanceof SoleNodeError) court.reach('start: another node has the table to itself')
        await this.gate.runtime.timers.sleep(startAgainMs)
        if (this.state !== 'LIVING') return
        this.#outbox = this.#create()
      }
    }
  }

  #comeTo(name: string): void | Promise<void> {
    const held = this.#failpoint(name, this)
    if (held === undefined) return
    this.#heldUp++
    const letGo = (): void => {
      this.#heldUp--
    }
    held.then(letGo, letGo)
    return held
  }

  #create(): SimOutbox {
    const { program, journal, server } = this.#world
    this.#metrics = createMemoryMetrics()
    this.#tally = noFinishes()
    const { metrics, gate } = { metrics: this.#metrics, gate: this.gate }
    const base = {
      events,
      database: this.database,
      store: watchStore(server.store, this.name, this.#world, this.#tally) satisfies OutboxStore,
      listeners: {
        ...createListenerRegistry().register('order.placed', (event, context) => journal.listen(this, event, context)),
        destinationsOf: ({ eventId }: EventEnvelope) => destinationsOf(eventId, program.roads),
      },
      runtime: {
        ...gate.runtime,
        metrics: this.#world.bounds.watch(this.name, metrics),
        failpoint: (name: string) => this.#comeTo(name),
      },
      ...basicOptions(program.options),
      maxBufferedBytes: program.sizes.maxBufferedBytes,
    }
    return createOutbox(this.#world, base, this.index)
  }
}

/** Returns true when the outbox missed a deadline, or one of its parts reports so. */
function isDeadline(error: unknown): boolean {
  if (error instanceof LifecycleError) return error.failures.every((failure) => isDeadline(failure.error))
  return error instanceof StopDeadlineError
}

type BasicOptions = Pick<
  Parameters<typeof Outbox.ordered<SimSchemas, SimTx>>[0],
  'events' | 'database' | 'store' | 'listeners' | 'runtime' | 'whenDone' | 'unroutable' | 'intervalMs' | 'batchSize'
> & { readonly drainTimeoutMs: number; readonly purge: false | object; readonly maxBufferedBytes: number }

function basicOptions({ whenDone, unroutable, intervalMs, batchSize, drainTimeoutMs, purge }: OptionPlan) {
  return {
    whenDone,
    unroutable,
    intervalMs,
    batchSize,
    drainTimeoutMs,
    purge: purge === false ? purge : { ...purge, intervalMs: 1_000, batchSize: 3 },
  } as const
}

function createOutbox({ program }: Ground, base: BasicOptions, instanceId: number): SimOutbox {
  const { mode, nodes, options } = program
  const { workerCount, maxAttempts, hotQueueCapacity, coldQueueCapacity, skipRecentMs, leaseMs } = options
  const claimLocking = { timeoutMs: leaseMs }
  const pool = { ...base, workerCount, maxAttempts, hotQueueCapacity, coldQueueCapacity, skipRecentMs }
  const { onDeadKey, maxBuffered, hasBreaker } = options
  const keyed = { ...base, maxAttempts, claimLocking, onDeadKey, maxBuffered }
  if (mode === 'singleNode') return Outbox.singleNode(pool)
  if (mode === 'multiNode') return Outbox.multiNode({ ...pool, claimLocking })
  if (mode === 'ordered') return Outbox.ordered({ ...base, coldQueueCapacity, skipRecentMs })
  if (mode === 'keyed') return Outbox.keyed({ ...keyed, workerCount })
  return Outbox.leasing({
    ...keyed,
    instanceCount: nodes,
    instanceId,
    maxInFlight: workerCount,
    ...(hasBreaker ? {} : { breaker: false }),
  })
}

function noFinishes(): FinishTally {
  return { success: 0, failure: 0, dead: 0, fenced: 0, locked: 0, inDoubt: 0 }
}
