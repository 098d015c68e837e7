/** What happens to the world while programs run, and the end of it. */

import type { ChaosEvent, Outage } from './program.ts'
import { groupId } from './program.ts'
import type { RecordSource } from './record-source.ts'
import { SettlingMember } from './settling-member.ts'
import type { TransactionFeeder } from './transaction-feeder.ts'
import { TransformingMember } from './transforming-member.ts'
import type { World } from './world.ts'

type Member = SettlingMember | TransformingMember

/** A place for a member: one process after another. */
interface Slot {
  readonly index: number
  incarnation: number
  member: Member | null
}

/** The members, the producers, and what befalls them. */
export class Chaos {
  readonly #world: World
  readonly #sources: readonly RecordSource[]
  readonly #feeders: readonly TransactionFeeder[]
  readonly #slots: Slot[]
  /** Stopped or frozen, and on their way out. */
  readonly #leaving = new Set<Promise<void>>()
  readonly #ended: Disposable[] = []
  #faults: World['program']['faults']
  #isOver = false

  constructor(world: World, sources: readonly RecordSource[], feeders: readonly TransactionFeeder[]) {
    this.#world = world
    this.#sources = sources
    this.#feeders = feeders
    this.#faults = world.program.faults
    this.#slots = Array.from({ length: world.program.members.count }, (_, index) => ({
      index,
      incarnation: 0,
      member: null,
    }))
  }

  get members(): Member[] {
    return this.#slots.flatMap(({ member }) => member ?? [])
  }

  /** Starts everybody, lets the chaos take its course, and heals. */
  async run(): Promise<void> {
    const { program, runtime, cluster, draw } = this.#world
    cluster.setFaults(this.#faults)
    for (const source of this.#sources) source.start()
    for (const feeder of this.#feeders) feeder.start()
    const startedAt = runtime.clock.monotonic()
    for (const slot of this.#slots) {
      this.#startMember(slot)
      if (draw.chance(0.5)) await runtime.timers.sleep(draw.between(0, 300))
    }
    for (const outage of program.outages) this.#plan(outage.fromMs, () => this.#begin(outage))
    for (const event of program.chaos) {
      await runtime.timers.sleep(startedAt + event.atMs - runtime.clock.monotonic())
      await this.#befall(event)
    }
    await runtime.timers.sleep(startedAt + program.chaosMs - runtime.clock.monotonic())
    this.#heal()
  }

  /** Stops everybody in good order. */
  async end(): Promise<void> {
    await Promise.all([
      ...this.#leaving,
      ...this.members.map((member) => member.consumer.stop()),
      ...[...this.#sources, ...this.#feeders].map((producer) => producer.close()),
    ])
  }

  #startMember(slot: Slot): void {
    const { kind, members } = this.#world.program
    const name = `m${slot.index}i${++slot.incarnation}`
    const instanceId = members.isStatic ? `instance-${slot.index}` : undefined
    slot.member =
      kind === 'SETTLE'
        ? new SettlingMember(this.#world, name, instanceId)
        : new TransformingMember(this.#world, name, instanceId, `transform-${slot.index}`)
    void slot.member.run()
  }

  #plan(ms: number, run: () => void): void {
    this.#world.runtime.timers.schedule(ms, () => {
      if (!this.#isOver) run()
    })
  }

  #restartLater(slot: Slot): void {
    this.#plan(this.#world.draw.between(0, 1_500), () => {
      if (slot.member === null) this.#startMember(slot)
    })
  }

  #begin({ hits, forMs, isStall }: Outage): void {
    const { cluster, draw, program, court } = this.#world
    if (typeof hits === 'object') {
      court.note('chaos', () => `outage of ${hits.api} for ${forMs} ms: ${JSON.stringify(hits.rates)}`)
      const former = this.#faults
      const rates = former === false ? {} : former.rates
      this.#faults = { ...former, rates: { ...rates, [hits.api]: hits.rates } }
      cluster.setFaults(this.#faults)
      this.#plan(forMs, () => {
        this.#faults = former
        cluster.setFaults(former)
      })
      return
    }
    const client = draw.pick(this.members)?.consumer.process.name ?? ''
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
    switch (kind) {
      case 'REBALANCE':
        return this.#onGroup(() => cluster.rebalance(groupId))
      case 'EXPIRE_MEMBER':
        return this.#onGroup(() => {
          const { members } = cluster.group(groupId)
          if (members.length > 0) cluster.expireMember(groupId, draw.pick(members).memberId)
        })
      case 'STOP_MEMBER':
        return this.#stop(slot)
      case 'KILL_MEMBER':
        return this.#kill(slot)
      case 'FREEZE_MEMBER':
        return this.#freeze(slot)
      case 'REPLACE_MEMBER':
        return this.#replace(slot)
      case 'KILL_PRODUCER':
        draw.pick([...this.#sources, ...this.#feeders]).kill()
        return
      case 'REPLACE_PRODUCER':
        if (this.#feeders.length > 0) draw.pick(this.#feeders).start()
        return
      case 'MOVE_GROUP_COORDINATOR':
        return this.#onGroup(() => cluster.moveCoordinator('GROUP', groupId, node))
      case 'MOVE_TRANSACTION_COORDINATOR':
        cluster.moveCoordinator('TRANSACTION', draw.pick(['feeder-0', 'feeder-1', `transform-${slot.index}`]), node)
        return
      case 'MOVE_LEADER':
        return this.#moveLeader(node)
      case 'KILL_BROKER':
        return this.#killBroker(node)
      case 'GROW':
        return this.#grow()
      case 'DELETE_RECORDS':
        return this.#deleteRecords()
      case 'WALL_JUMP':
        runtime.wallJump(draw.between(-1, 1) * draw.pick([500, 60_000, 7_200_000]))
        return
      case 'CUT':
        cluster.cut(draw.chance(0.5) ? { node } : { client: draw.pick(this.members)?.consumer.process.name ?? '' })
    }
  }

  /** The group is there once somebody has joined. */
  #onGroup(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#world.court.note('chaos', () => String(error))
    }
  }

  #stop(slot: Slot): void {
    const { member } = slot
    if (member === null || member.consumer.isOver) return
    slot.member = null
    this.#leave(member.consumer.stop())
    this.#restartLater(slot)
  }

  #leave(leaving: Promise<void>): void {
    this.#leaving.add(leaving)
    void leaving.finally(() => this.#leaving.delete(leaving))
  }

  #kill(slot: Slot): void {
    slot.member?.consumer.process.kill()
    slot.member = null
    this.#restartLater(slot)
  }

  #freeze(slot: Slot): void {
    const { draw, program, court } = this.#world
    const { member } = slot
    if (member === null) return
    const forMs = draw.between(0.2, 2.5) * program.members.options.sessionTimeoutMs
    if (forMs > program.members.options.sessionTimeoutMs)
      court.reach('group: a member was stopped for longer than its session')
    member.consumer.freeze()
    this.#plan(forMs, () => member.consumer.process.thaw())
  }

  /** A successor comes while the member sleeps. When it wakes up it may think that nothing has happened. */
  #replace(slot: Slot): void {
    const { draw, program } = this.#world
    const { member } = slot
    if (member === null || member.consumer.isOver) return
    member.consumer.freeze()
    this.#startMember(slot)
    const forMs = draw.between(0.1, 2) * program.members.options.sessionTimeoutMs
    const wake = async (): Promise<void> => {
      await this.#world.runtime.timers.sleep(forMs)
      member.consumer.process.thaw()
      await this.#world.runtime.timers.sleep(1_000)
      await member.consumer.stop()
    }
    this.#leave(wake())
  }

  #moveLeader(node: number): void {
    const { cluster, draw, court } = this.#world
    const { topic, partition } = draw.pick(this.#world.allJournals())
    try {
      cluster.moveLeader(topic, partition, node)
    } catch (error) {
      court.note('chaos', () => String(error)) // That node is down.
    }
  }

  #killBroker(node: number): void {
    const { cluster, draw, court } = this.#world
    try {
      cluster.killBroker(node, { electAfterMs: draw.pick([0, 200, 1_000]) })
    } catch (error) {
      court.note('chaos', () => String(error)) // It is down already.
      return
    }
    const restart = { [Symbol.dispose]: () => this.#restartBroker(node) }
    this.#ended.push(restart)
    this.#plan(draw.magnitude(100, 3_000), () => this.#restartBroker(node))
  }

  #restartBroker(node: number): void {
    try {
      this.#world.cluster.restartBroker(node)
    } catch {
      // It is up already.
    }
  }

  async #grow(): Promise<void> {
    const { draw, program, court } = this.#world
    const { name, companion } = draw.pick(program.topics)
    const partitions = this.#world.journalsOf(name).length + 1
    const counts = Object.fromEntries(
      [companion, name].flatMap((topic) => (topic === undefined ? [] : [[topic, partitions]])),
    )
    const { client } = this.#world.station('operator')
    await client.admin.createPartitions(counts, { deadlineMs: 1_000 }).catch((error: unknown) => {
      court.note('chaos', () => `cannot grow: ${String(error)}`)
    })
    await client.close()
    for (const topic of Object.keys(counts)) {
      try {
        this.#world.cluster.partition(topic, partitions - 1)
        this.#world.journal(topic, partitions - 1)
        court.reach('group: new partitions are assigned')
      } catch (error) {
        court.note('chaos', () => String(error)) // The request did not come through.
      }
    }
  }

  /** Often also what nobody has read: it is lost by decision of whoever set the retention. */
  #deleteRecords(): void {
    const { draw } = this.#world
    const journal = draw.pick(this.#world.inputs())
    const { highWatermark } = this.#world.cluster.partition(journal.topic, journal.partition)
    journal.deleteBefore(BigInt(Math.floor(draw.between(0, Number(highWatermark) + 1))))
  }

  #heal(): void {
    const { cluster, court } = this.#world
    court.note('chaos', () => 'everything heals')
    this.#isOver = true
    cluster.setFaults(false)
    for (const ended of this.#ended) ended[Symbol.dispose]()
    this.#world.thawAll()
    for (const slot of this.#slots) {
      if (slot.member === null || slot.member.consumer.isOver) this.#startMember(slot)
    }
  }
}
