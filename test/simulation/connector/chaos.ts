/** Injects faults while connectors run, and heals the world at the end. */

import { ClusterTrouble } from '../world/cluster-trouble.ts'
import { type Slot, Slots } from '../world/slots.ts'
import { isSettledIn } from './committed-state.ts'
import { ConnectorProcess } from './connector-process.ts'
import { DynamicBindings } from './dynamic-bindings.ts'
import { Operator } from './operator.ts'
import { placesOf } from './places.ts'
import { PositionOperator } from './position-operator.ts'
import type { ChaosKind } from './program.ts'
import { RecordFeeder } from './record-feeder.ts'
import { isSource, sourceTopic } from './source-topic.ts'
import type { World } from './world.ts'

/** When the process that is not restarted dies. */
const deathAtMs = 1_000

/** See the file's comment. */
export class Chaos {
  readonly operator: Operator
  readonly feeder: RecordFeeder
  readonly positions: PositionOperator
  readonly #dynamic: DynamicBindings
  readonly #world: World
  readonly #trouble: ClusterTrouble
  readonly #slots: Slots<ConnectorProcess>
  readonly #failpointCounts = new Map<string, number>()

  constructor(world: World) {
    this.#world = world
    this.operator = new Operator(world)
    this.feeder = new RecordFeeder(world)
    this.positions = new PositionOperator(world)
    this.#dynamic = new DynamicBindings(world)
    this.#trouble = new ClusterTrouble(world)
    this.#slots = new Slots(world.program.processes, this.#trouble, world.draw, (slot) => this.#create(slot))
  }

  get processes(): ConnectorProcess[] {
    return this.#slots.processes
  }

  /** Describes a pending change to the world. */
  get unfinished(): string | undefined {
    if (!this.feeder.isDone) return 'records are not written yet'
    return this.positions.isBusy ? 'an operator moves positions' : undefined
  }

  /** Starts all processes and runs the planned chaos. */
  async run(): Promise<void> {
    const { program, runtime, draw } = this.#world
    await this.operator.setOffsets()
    this.#trouble.begin()
    void this.feeder.run()
    const startedAt = runtime.clock.monotonic()
    for (const slot of this.#slots.list) {
      this.#slots.start(slot)
      if (draw.chance(0.5)) await runtime.timers.sleep(draw.between(0, 300))
    }
    for (const { atMs, log, keeps } of program.logCuts) this.#trouble.plan(atMs, () => this.#cutLog(log, keeps))
    for (const outage of program.outages) this.#trouble.planOutage(outage, () => draw.pick(this.processes)?.name ?? '')
    if (program.obstruction?.kind === 'DEAD_PROCESS') this.#trouble.plan(deathAtMs, () => this.#loseOne())
    await this.#trouble.befall(program.chaos, { startedAt, untilMs: program.chaosMs }, (kind) => this.#befall(kind))
  }

  /** Ends all faults and resumes all processes. */
  heal(): void {
    this.#trouble.heal()
    this.#world.obstruction.end()
    this.#world.createLateTopic()
    if (this.#world.program.obstruction?.kind === 'NO_DEAD_LETTER_TOPIC') this.#world.createDeadLetterTopics()
    for (const slot of this.#slots.list) if (slot.process === null) this.#slots.start(slot)
    this.#world.healedAt = this.#world.now()
  }

  /** Stops all processes gracefully. */
  async end(): Promise<void> {
    await Promise.all([
      this.#slots.left(),
      ...this.processes.map((process) => process.stop(20_000)),
      this.feeder.close(),
      this.operator.close(),
    ])
  }

  /** Does everything that waits for an operator. */
  tend(): void {
    this.operator.releaseAll()
    this.#dynamic.tend(this.processes, this.#trouble.isOver)
    for (const process of this.processes) {
      if (!process.isStarted) continue
      for (const binding of this.#world.program.bindings) {
        const reasons = this.#world.statusChecker.look(process, binding)
        if (reasons.has('EXHAUSTED') && !process.paused.has(binding.name)) void this.operator.resume(process, binding)
      }
    }
    this.#world.tierDelays.look(this.processes)
  }

  #create({ index, incarnation }: Slot<ConnectorProcess>): ConnectorProcess {
    return new ConnectorProcess(this.#world, `p${index}i${incarnation}`, `host-${index}`, (name, process) =>
      this.#atFailpoint(name, process),
    )
  }

  #loseOne(): void {
    const slot = this.#slots.list[0] as Slot<ConnectorProcess>
    this.#world.court.reach('obstruction: a process is dead')
    slot.process?.kill()
    slot.process = null
  }

  /** Counts over all processes: the n-th process to reach the failpoint is hit. */
  #atFailpoint(name: string, process: ConnectorProcess): void | Promise<void> {
    const { program, court } = this.#world
    if (this.#trouble.isOver || program.failpoints.length === 0) return
    const count = (this.#failpointCounts.get(name) ?? 0) + 1
    this.#failpointCounts.set(name, count)
    const plan = program.failpoints.find((one) => one.name === name && one.nth === count)
    // The start of a handler is decided before this failpoint: a delay here would only look like a late decision.
    if (plan === undefined || (name === 'handler.before' && plan.kind !== 'KILL')) return
    court.note('chaos', () => `${plan.kind} of ${process.name} at ${name}`)
    court.reach('failpoint: something happens between two steps')
    if (plan.kind === 'STOP') {
      const slot = this.#slots.list.find((one) => one.process === process)
      if (slot === undefined) return
      this.#stop(slot)
      // The process executes its next step while it stops.
      return process.sim.runtime.timers.sleep(1)
    }
    if (plan.kind === 'DELAY') return process.sim.runtime.timers.sleep(plan.forMs)
    if (plan.kind === 'KILL') {
      const slot = this.#slots.list.find((one) => one.process === process)
      if (slot === undefined) process.kill()
      else this.#kill(slot)
      return new Promise(() => {})
    }
    process.sim.freeze()
    this.#trouble.plan(plan.forMs, () => process.sim.thaw())
    // A frozen process continues with its next timer.
    return process.sim.runtime.timers.sleep(0)
  }

  async #befall(kind: ChaosKind): Promise<void> {
    const { cluster, draw, program } = this.#world
    const slot = draw.pick(this.#slots.list)
    const node = draw.integer(1, program.brokers)
    const binding = draw.pick(program.bindings)
    const { groupId } = draw.pick(placesOf(binding).filter((place) => place.groupId !== ''))
    switch (kind) {
      case 'REBALANCE':
        return this.#trouble.attempt(() => cluster.rebalance(groupId))
      case 'EXPIRE_MEMBER':
        return this.#trouble.attempt(() => {
          const { members } = cluster.group(groupId)
          if (members.length > 0) cluster.expireMember(groupId, draw.pick(members).memberId)
        })
      case 'STOP_PROCESS':
        return this.#stop(slot)
      case 'STOP_BINDING':
        return this.#stopBinding(slot, binding.name)
      case 'KILL_PROCESS':
        return this.#kill(slot)
      case 'FREEZE_PROCESS':
        return this.#freeze(slot)
      case 'PAUSE_BINDING':
        if (slot.process !== null) void this.operator.pause(slot.process, binding, draw.between(50, 1_500))
        return
      case 'MOVE_GROUP_COORDINATOR':
        return this.#trouble.attempt(() => cluster.moveCoordinator('GROUP', groupId, node))
      case 'MOVE_LEADER': {
        const { topic, partition } = draw.pick([...this.#world.logs.values()])
        return this.#trouble.attempt(() => cluster.moveLeader(topic, partition, node))
      }
      case 'KILL_BROKER':
        return this.#trouble.killBroker(node)
      case 'GROW':
        return this.#grow()
      case 'WALL_JUMP':
        this.#world.jumps++
        return this.#trouble.jumpWallClock()
      case 'DELETE_RECORDS':
        return this.#deleteRecords()
      case 'RECREATE_SOURCE':
        return this.#recreateSource()
      case 'CUT':
        cluster.cut(draw.chance(0.5) ? { node } : { client: slot.process?.name ?? '' })
        return
      case 'CREATE_TOPIC':
        return this.#world.createLateTopic()
      case 'SEEK':
      case 'SKIP':
      case 'RESET':
        void this.positions.move(kind, this.processes)
        return
      case 'TAKE_OUT':
        if (slot.process !== null) this.#dynamic.takeOut(slot.process)
        return
      case 'STOP_TWICE':
        return this.#stop(slot, draw.between(0, 400))
      case 'REPLAY':
      case 'RELEASE':
        this.operator.ask(kind)
    }
  }

  #hasRunning(process: ConnectorProcess): boolean {
    return [...this.#world.journal.running].some((call) => call.process === process)
  }

  /** @param againMs - when it receives the second signal, and dies */
  #stop(slot: Slot<ConnectorProcess>, againMs?: number): void {
    const { process } = slot
    if (process === null) return
    if (this.#hasRunning(process)) this.#world.court.reach('stop: handlers run when it begins')
    this.#slots.leave(againMs === undefined ? process.stop() : process.stopTwice(againMs))
    this.#slots.vacate(slot)
  }

  /** Stops one binding and starts it again. */
  #stopBinding({ process }: Slot<ConnectorProcess>, name: string): void {
    if (process === null || !process.isStarted || !process.has(name)) return
    const restart = async (): Promise<void> => {
      try {
        await process.connector.stop(name)
      } catch (error) {
        this.#world.court.note('chaos', () => String(error))
      }
      process.paused.delete(name)
      process.restarts++
      for (;;) {
        if (!process.isStarted || !process.has(name)) return
        try {
          return await process.connector.start(name)
        } catch (error) {
          this.#world.court.note('chaos', () => `cannot start ${name}: ${String(error)}`)
          await process.sim.runtime.timers.sleep(500)
        }
      }
    }
    void restart()
  }

  #kill(slot: Slot<ConnectorProcess>): void {
    if (slot.process === null) return
    if (this.#hasRunning(slot.process)) this.#world.court.reach('kill: handlers run')
    this.#noteUncommitted()
    slot.process.kill()
    this.#slots.vacate(slot)
  }

  #noteUncommitted(): void {
    const { evidence, commits, program, court } = this.#world
    evidence.update()
    for (const { groupId } of program.bindings)
      for (const { record, fates } of evidence.originals.values()) {
        const fate = fates.get(groupId)
        const state = commits.last(groupId, record.topic, record.partition)?.state
        const isMoved = fate !== undefined && fate.hops.length + fate.deadLetters.length > 0
        if (isMoved && (state === undefined || !isSettledIn(state.source, record.offset)))
          court.reach('kill: a retry or dead letter record is written and its source not committed')
      }
  }

  #freeze({ process }: Slot<ConnectorProcess>): void {
    const { draw, program, court } = this.#world
    if (process === null) return
    const { sessionTimeoutMs = 0 } = program.bindings[0]?.options ?? {}
    const forMs = draw.between(0.2, 2.5) * sessionTimeoutMs
    if (forMs > sessionTimeoutMs) court.reach('freeze: it outlasts the session')
    process.sim.freeze()
    this.#trouble.plan(forMs, () => process.sim.thaw())
  }

  /** Deletes old records, often including unread ones: retention may lose them by configuration. */
  #deleteRecords(): void {
    const { draw, logs, cluster } = this.#world
    const log = draw.pick([...logs.values()].filter(({ topic }) => isSource(topic)))
    const { highWatermark } = cluster.partition(log.topic, log.partition)
    this.#world.deleteBefore(log, BigInt(draw.integer(0, Number(highWatermark))))
  }

  #cutLog(pick: number, keeps: number): void {
    this.#world.discover()
    const logs = [...this.#world.logs.values()].filter(({ topic }) => isSource(topic))
    const log = logs[Math.floor(pick * logs.length)]
    if (log !== undefined) this.#trouble.attempt(() => this.#world.cutLog(log, keeps))
  }

  async #recreateSource(): Promise<void> {
    const { draw, runtime } = this.#world
    this.#world.deleteSource()
    await runtime.timers.sleep(draw.between(100, 2_000))
    this.#world.recreateSource()
  }

  async #grow(): Promise<void> {
    const { court, logs } = this.#world
    const count = [...logs.values()].filter(({ topic }) => topic === sourceTopic).length
    const { client } = this.#world.station('grower')
    await client.admin.createPartitions({ [sourceTopic]: count + 1 }, { deadlineMs: 1_000 }).catch((error: unknown) => {
      court.note('chaos', () => `cannot grow: ${String(error)}`)
    })
    await client.close()
    this.#world.discover()
  }
}
