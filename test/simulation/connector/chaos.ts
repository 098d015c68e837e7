/** What happens to the world while connectors run, and the end of it. */

import { isSettledIn } from './committed-state.ts'
import { ConnectorProcess } from './connector-process.ts'
import { Operator } from './operator.ts'
import { placesOf } from './places.ts'
import type { ChaosEvent, Outage } from './program.ts'
import { sourceTopic } from './program.ts'
import { RecordFeeder } from './record-feeder.ts'
import type { World } from './world.ts'

/** A place for a process: one after another runs in it. */
interface Slot {
  readonly index: number
  incarnation: number
  process: ConnectorProcess | null
}

/** See the file's comment. */
export class Chaos {
  readonly operator: Operator
  readonly feeder: RecordFeeder
  readonly #world: World
  readonly #slots: Slot[]
  readonly #leaving = new Set<Promise<void>>()
  readonly #ended: Disposable[] = []
  readonly #failpointCounts = new Map<string, number>()
  #faults: World['program']['faults']
  #isOver = false

  constructor(world: World) {
    this.#world = world
    this.operator = new Operator(world)
    this.feeder = new RecordFeeder(world)
    this.#faults = world.program.faults
    this.#slots = Array.from({ length: world.program.processes }, (_, index) => ({
      index,
      incarnation: 0,
      process: null,
    }))
  }

  get processes(): ConnectorProcess[] {
    return this.#slots.flatMap(({ process }) => process ?? [])
  }

  /** Starts everybody, lets the chaos take its course, and heals. */
  async run(): Promise<void> {
    const { program, runtime, cluster, draw } = this.#world
    cluster.setFaults(this.#faults)
    void this.feeder.run()
    const startedAt = runtime.clock.monotonic()
    for (const slot of this.#slots) {
      this.#start(slot)
      if (draw.chance(0.5)) await runtime.timers.sleep(draw.between(0, 300))
    }
    for (const outage of program.outages) this.#plan(outage.fromMs, () => this.#begin(outage))
    for (const event of program.chaos) {
      await runtime.timers.sleep(Math.max(0, startedAt + event.atMs - runtime.clock.monotonic()))
      await this.#befall(event)
    }
    await runtime.timers.sleep(Math.max(0, startedAt + program.chaosMs - runtime.clock.monotonic()))
    this.#heal()
  }

  /** Stops everybody in good order. */
  async end(): Promise<void> {
    await Promise.all([
      ...this.#leaving,
      ...this.processes.map((process) => process.stop(20_000)),
      this.feeder.close(),
      this.operator.close(),
    ])
  }

  /** Everything that waits for a person. */
  tend(): void {
    this.operator.releaseAll()
    for (const process of this.processes) {
      if (!process.isStarted) continue
      for (const binding of this.#world.program.bindings) {
        const reasons = this.#world.statusChecker.look(process, binding)
        if (reasons.has('EXHAUSTED') && !process.paused.has(binding.name)) void this.operator.resume(process, binding)
      }
    }
  }

  #start(slot: Slot): void {
    slot.process = new ConnectorProcess(
      this.#world,
      `p${slot.index}i${++slot.incarnation}`,
      `host-${slot.index}`,
      (name, process) => this.#atFailpoint(name, process),
    )
  }

  /** Counts over all processes: the n-th that comes there is hit. */
  #atFailpoint(name: string, process: ConnectorProcess): void | Promise<void> {
    const { program, court } = this.#world
    if (this.#isOver || program.failpoints.length === 0) return
    const count = (this.#failpointCounts.get(name) ?? 0) + 1
    this.#failpointCounts.set(name, count)
    const plan = program.failpoints.find((one) => one.name === name && one.nth === count)
    // Whether a handler may start is decided before it: a delay there would only look like a late decision.
    if (plan === undefined || (name === 'handler.before' && plan.kind !== 'KILL')) return
    court.note('chaos', () => `${plan.kind} of ${process.name} at ${name}`)
    court.reach('failpoint: something happens between two steps')
    if (plan.kind === 'DELAY') return process.sim.runtime.timers.sleep(plan.forMs)
    if (plan.kind === 'KILL') {
      const slot = this.#slots.find((one) => one.process === process)
      if (slot === undefined) process.kill()
      else this.#kill(slot)
      return new Promise(() => {})
    }
    process.sim.freeze()
    this.#plan(plan.forMs, () => process.sim.thaw())
    // What is frozen goes on with its next timer.
    return process.sim.runtime.timers.sleep(0)
  }

  #plan(ms: number, run: () => void): void {
    this.#world.runtime.timers.schedule(ms, () => {
      if (!this.#isOver) run()
    })
  }

  #restartLater(slot: Slot): void {
    this.#plan(this.#world.draw.between(0, 1_500), () => {
      if (slot.process === null) this.#start(slot)
    })
  }

  #begin({ hits, forMs, isStall }: Outage): void {
    const { cluster, draw, program, court } = this.#world
    if (typeof hits === 'object') {
      court.note('chaos', () => `outage of ${hits.api} for ${forMs} ms: ${JSON.stringify(hits.rates)}`)
      const former = this.#faults
      this.#faults = {
        maxDelayMs: 1_500,
        ...former,
        rates: { ...(former === false ? {} : former.rates), [hits.api]: hits.rates },
      }
      cluster.setFaults(this.#faults)
      this.#plan(forMs, () => {
        this.#faults = former
        cluster.setFaults(former)
      })
      return
    }
    const client = draw.pick(this.processes)?.name ?? ''
    const match = hits === 'NODE' ? { node: draw.integer(1, program.brokers) } : { client }
    court.note('chaos', () => `outage of ${JSON.stringify(match)} for ${forMs} ms`)
    const outage = isStall ? cluster.stall(match) : cluster.dropResponses(match, 0.95)
    this.#ended.push(outage)
    this.#plan(forMs, () => outage[Symbol.dispose]())
  }

  async #befall({ kind }: ChaosEvent): Promise<void> {
    const { cluster, draw, program, court, runtime } = this.#world
    court.note('chaos', () => kind)
    const slot = draw.pick(this.#slots)
    const node = draw.integer(1, program.brokers)
    const binding = draw.pick(program.bindings)
    const { groupId } = draw.pick(placesOf(binding).filter((place) => place.groupId !== ''))
    switch (kind) {
      case 'REBALANCE':
        return this.#attempt(() => cluster.rebalance(groupId))
      case 'EXPIRE_MEMBER':
        return this.#attempt(() => {
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
        return this.#attempt(() => cluster.moveCoordinator('GROUP', groupId, node))
      case 'MOVE_LEADER': {
        const { topic, partition } = draw.pick([...this.#world.logs.values()])
        return this.#attempt(() => cluster.moveLeader(topic, partition, node))
      }
      case 'KILL_BROKER':
        return this.#killBroker(node)
      case 'GROW':
        return this.#grow()
      case 'WALL_JUMP':
        this.#world.jumps++
        runtime.wallJump(draw.between(-1, 1) * draw.pick([500, 60_000, 7_200_000]))
        return
      case 'CUT':
        cluster.cut(draw.chance(0.5) ? { node } : { client: slot.process?.name ?? '' })
        return
      case 'REPLAY':
      case 'RELEASE':
        this.operator.ask(kind)
    }
  }

  /** What it is about may not be there yet, or not any more. */
  #attempt(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#world.court.note('chaos', () => String(error))
    }
  }

  #hasRunning(process: ConnectorProcess): boolean {
    return [...this.#world.journal.running].some((call) => call.process === process)
  }

  #stop(slot: Slot): void {
    const { process } = slot
    if (process === null) return
    if (this.#hasRunning(process)) this.#world.court.reach('stop: handlers run when it begins')
    slot.process = null
    this.#leave(process.stop())
    this.#restartLater(slot)
  }

  /** Stops one binding and starts it again. */
  #stopBinding({ process }: Slot, name: string): void {
    if (process === null || !process.isStarted) return
    const restart = async (): Promise<void> => {
      try {
        await process.connector.stop(name)
      } catch (error) {
        this.#world.court.note('chaos', () => String(error))
      }
      process.paused.delete(name)
      process.restarts++
      for (;;) {
        if (!process.isStarted) return
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

  #leave(leaving: Promise<void>): void {
    this.#leaving.add(leaving)
    void leaving.finally(() => this.#leaving.delete(leaving))
  }

  #kill(slot: Slot): void {
    if (slot.process === null) return
    if (this.#hasRunning(slot.process)) this.#world.court.reach('kill: handlers run')
    this.#noteUncommitted()
    slot.process.kill()
    slot.process = null
    this.#restartLater(slot)
  }

  #noteUncommitted(): void {
    const { evidence, commits, program, court } = this.#world
    evidence.update()
    for (const { groupId } of program.bindings)
      for (const { record, fates } of evidence.originals.values()) {
        const fate = fates.get(groupId)
        const state = commits.last(groupId, sourceTopic, record.partition)?.state
        const isMoved = fate !== undefined && fate.hops.length + fate.deadLetters.length > 0
        if (isMoved && (state === undefined || !isSettledIn(state.source, record.offset)))
          court.reach('kill: a retry or dead letter record is written and its source not committed')
      }
  }

  #freeze({ process }: Slot): void {
    const { draw, program, court } = this.#world
    if (process === null) return
    const { sessionTimeoutMs = 0 } = program.bindings[0]?.options ?? {}
    const forMs = draw.between(0.2, 2.5) * sessionTimeoutMs
    if (forMs > sessionTimeoutMs) court.reach('freeze: it outlasts the session')
    process.sim.freeze()
    this.#plan(forMs, () => process.sim.thaw())
  }

  #killBroker(node: number): void {
    const { cluster, draw } = this.#world
    this.#attempt(() => {
      cluster.killBroker(node, { electAfterMs: draw.pick([0, 200, 1_000]) })
      this.#ended.push({ [Symbol.dispose]: () => this.#attempt(() => cluster.restartBroker(node)) })
      this.#plan(draw.magnitude(100, 3_000), () => this.#attempt(() => cluster.restartBroker(node)))
    })
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

  #heal(): void {
    const { cluster, court } = this.#world
    court.note('chaos', () => 'everything heals')
    this.#isOver = true
    cluster.setFaults(false)
    for (const ended of this.#ended) ended[Symbol.dispose]()
    this.#world.thawAll()
    for (const slot of this.#slots) if (slot.process === null) this.#start(slot)
  }
}
