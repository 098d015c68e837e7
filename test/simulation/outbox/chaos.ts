/** Injects faults while outboxes run, and heals the world at the end. */

import { modeShard } from '@waybill/outbox/internal'
import { type Slot, Slots } from '../world/slots.ts'
import type { LockPlan } from './lock-plan.ts'
import { Operator } from './operator.ts'
import { OutboxNode } from './outbox-node.ts'
import { modeLeaseMs } from './ownership.ts'
import type { ChaosKind, Outage } from './program.ts'
import type { RoadOutage } from './road-plan.ts'
import { TransactionFeeder } from './transaction-feeder.ts'
import type { World } from './world.ts'

/** See the file's comment. */
export class Chaos {
  readonly operator: Operator
  readonly feeder: TransactionFeeder
  readonly #world: World
  readonly #slots: Slots<OutboxNode>
  readonly #failpointCounts = new Map<string, number>()
  readonly #locks = new DisposableStack()
  #isOver = false

  constructor(world: World) {
    this.#world = world
    this.operator = new Operator(world)
    this.feeder = new TransactionFeeder(world, (index) => this.#pickNode(index))
    this.#slots = new Slots(world.program.nodes, this, world.draw, (slot) => this.#create(slot))
  }

  get nodes(): OutboxNode[] {
    return this.#slots.processes
  }

  /** Starts all processes and runs the planned chaos. */
  async run(): Promise<void> {
    const { program, runtime, draw, server } = this.#world
    for (const slot of this.#slots.list) {
      this.#slots.start(slot)
      if (draw.chance(0.5)) await runtime.timers.sleep(draw.between(0, 300))
    }
    server.setFaults(program.faults)
    this.feeder.run()
    for (const outage of program.outages) this.plan(outage.fromMs, () => this.#beginOutage(outage))
    for (const outage of program.roads.outages) this.#planRoadOutage(outage)
    for (const lock of program.locks) this.plan(lock.atMs, () => this.#lockRows(lock))
    const startedAt = runtime.clock.monotonic()
    const otherMode = this.#letOtherModeWork(startedAt)
    for (const { kind, atMs } of program.chaos) {
      await this.#reach(startedAt + atMs)
      this.#world.court.note('chaos', () => kind)
      this.#befall(kind)
    }
    await this.#reach(startedAt + program.chaosMs)
    await otherMode
  }

  /** Ends all faults and resumes all processes. */
  heal(): void {
    const { server, court } = this.#world
    court.note('chaos', () => 'everything heals')
    this.#isOver = true
    this.#world.isHealed = true
    server.setFaults(false)
    server.start()
    this.#locks.dispose()
    for (const node of this.#world.nodes.values()) node.gate.thaw()
    for (const slot of this.#slots.list) if (slot.process === null) this.#slots.start(slot)
  }

  /** Stops all processes gracefully. */
  async end(): Promise<void> {
    await Promise.all([this.#slots.left(), ...this.nodes.map((node) => node.stop(20_000))])
  }

  /** Schedules a run, which is skipped when everything is healed by then. */
  plan(ms: number, run: () => void): void {
    this.#world.runtime.timers.schedule(ms, () => {
      if (!this.#isOver) run()
    })
  }

  /** An outage of a destination may last longer than everything else, so that nothing else hides its effects. */
  #planRoadOutage(outage: RoadOutage): void {
    const { roads, runtime } = this.#world
    runtime.timers.schedule(outage.fromMs, () => roads.begin(outage))
    runtime.timers.schedule(outage.fromMs + outage.forMs, () => roads.end(outage))
  }

  async #reach(at: number): Promise<void> {
    const { timers, clock } = this.#world.runtime
    await timers.sleep(Math.max(0, at - clock.monotonic()))
  }

  #create({ index, incarnation }: Slot<OutboxNode>): OutboxNode {
    return new OutboxNode(this.#world, `n${index}i${incarnation}`, index, (name, node) => this.#atFailpoint(name, node))
  }

  #pickNode(index: number): OutboxNode | undefined {
    const living = this.nodes.filter(({ state, gate }) => state === 'LIVING' && !gate.isFrozen)
    return living.find((node) => node.index === index) ?? living[0]
  }

  #beginOutage({ forMs }: Outage): void {
    const { server, court } = this.#world
    court.note('chaos', () => `the database is away for ${forMs} ms`)
    server.stop()
    this.plan(forMs, () => server.start())
  }

  #lockRows({ forMs, share }: LockPlan): void {
    const { server, court, draw } = this.#world
    const pending = server.table.rows.filter(
      ({ isCommitted, status }) => isCommitted && (status === 'NEW' || status === 'RETRY'),
    )
    const seqs = draw.some(pending, share).map(({ seq }) => seq)
    court.note('chaos', () => `locks ${seqs.length} rows for ${forMs} ms`)
    const locked = this.#locks.use(server.rowLocks.lock(seqs))
    this.plan(forMs, () => locked[Symbol.dispose]())
  }

  #befall(kind: ChaosKind): void {
    const { server, draw, runtime } = this.#world
    const slot = draw.pick(this.#slots.list)
    if (kind === 'STOP_NODE') this.#stop(slot)
    else if (kind === 'KILL_NODE') this.#kill(slot)
    else if (kind === 'FREEZE_NODE') this.#freeze(slot.process, draw.msOfMagnitude(100, 15_000))
    else if (kind === 'CUT') server.cut(draw.chance(0.5) ? slot.process?.name : undefined)
    else if (kind === 'RESTART_DATABASE') this.#beginOutage({ fromMs: 0, forMs: draw.ms(0, 300) })
    else if (kind === 'FAIL_OVER_DATABASE') this.#failOver()
    else if (kind === 'DATABASE_CLOCK_FORWARD') this.#jumpForward(draw.msOfMagnitude(100, 30_000))
    else if (kind === 'DATABASE_CLOCK_BACK') this.#jumpBack(draw.msOfMagnitude(100, 5_000))
    else if (kind === 'WALL_JUMP') runtime.wallJump(draw.between(-1, 1) * draw.pick([500, 60_000]))
    else void this.operator.replayAll()
  }

  #failOver(): void {
    const { server, court } = this.#world
    court.reach('server: another one restarts the sequence')
    server.failOver()
  }

  /** Freezes all nodes until the lease of the mode has expired, and wakes them while another mode owns the table. */
  async #letOtherModeWork(startedAt: number): Promise<void> {
    const { program, draw, server, court, runtime } = this.#world
    if (program.otherModeAtMs === null) return
    await this.#reach(startedAt + program.otherModeAtMs)
    court.note('chaos', () => 'everybody stands still, and another mode begins')
    for (const node of this.nodes) node.gate.freeze()
    await runtime.timers.sleep(modeLeaseMs + draw.ms(10, 1_000))
    const [mark] = server.table.leases.take('Outbox.other', [modeShard], draw.ms(1_000, 10_000))
    if (mark !== undefined) court.reach('mode: another one has the table when nodes wake up')
    for (const node of this.nodes) node.gate.thaw()
    await runtime.timers.sleep(draw.ms(100, 2_000))
  }

  #jumpForward(ms: number): void {
    this.#world.server.jump(ms)
    this.#world.ownership.doubt(this.#world.now())
  }

  #jumpBack(ms: number): void {
    this.#world.server.jump(-ms)
    this.#world.hasClockJumpedBack = true
  }

  #stop(slot: Slot<OutboxNode>): void {
    const { process: node } = slot
    if (node === null || node.state !== 'LIVING') return
    const { draw, program } = this.#world
    // A calm seed never cuts a drain short.
    const deadlineMs = program.isCalm ? 20_000 : draw.pick([50, 1_000, 20_000])
    this.#slots.leave(node.stop(deadlineMs))
    this.#slots.vacate(slot)
  }

  #kill(slot: Slot<OutboxNode>): void {
    if (slot.process === null) return
    slot.process.kill()
    this.#slots.vacate(slot)
  }

  #freeze(node: OutboxNode | null, forMs: number): void {
    if (node === null) return
    const { court, program } = this.#world
    court.note('chaos', () => `freezes ${node.name} for ${forMs} ms`)
    if (forMs > program.options.leaseMs) court.reach('freeze: it outlasts the lease')
    node.gate.freeze()
    this.plan(forMs, () => node.gate.thaw())
  }

  /** Counts over all processes: the n-th process to reach the failpoint is hit. */
  #atFailpoint(name: string, node: OutboxNode): void | Promise<void> {
    const { program, court } = this.#world
    if (this.#isOver || program.failpoints.length === 0) return
    const count = (this.#failpointCounts.get(name) ?? 0) + 1
    this.#failpointCounts.set(name, count)
    const plan = program.failpoints.find((one) => one.name === name && one.nth === count)
    // The right to call a listener is decided before this failpoint: a delay here would only look like a late decision.
    if (plan === undefined || (name === 'outbox.listener.before' && plan.kind !== 'KILL')) return
    court.note('chaos', () => `${plan.kind} of ${node.name} at ${name}`)
    court.reach('failpoint: something happens between two steps')
    if (plan.kind === 'DELAY') return node.gate.runtime.timers.sleep(plan.forMs)
    if (plan.kind === 'KILL') {
      const slot = this.#slots.list.find((one) => one.process === node)
      if (slot === undefined) node.kill()
      else this.#kill(slot)
      return new Promise(() => {})
    }
    this.#freeze(node, plan.forMs)
    // A frozen process continues with its next timer.
    return node.gate.runtime.timers.sleep(0)
  }
}
