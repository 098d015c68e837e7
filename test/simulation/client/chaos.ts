/** Injects faults while programs run, and heals the world at the end. */

import { ClusterTrouble } from '../world/cluster-trouble.ts'
import { type Slot, Slots } from '../world/slots.ts'
import { type ChaosKind, groupId } from './program.ts'
import type { RecordSource } from './record-source.ts'
import { SettlingMember } from './settling-member.ts'
import type { TransactionFeeder } from './transaction-feeder.ts'
import { TransformingMember } from './transforming-member.ts'
import type { World } from './world.ts'

type Member = SettlingMember | TransformingMember

/** Runs the members and producers, and injects faults into them. */
export class Chaos {
  readonly #world: World
  readonly #sources: readonly RecordSource[]
  readonly #feeders: readonly TransactionFeeder[]
  readonly #trouble: ClusterTrouble
  readonly #slots: Slots<Member>

  constructor(world: World, sources: readonly RecordSource[], feeders: readonly TransactionFeeder[]) {
    this.#world = world
    this.#sources = sources
    this.#feeders = feeders
    this.#trouble = new ClusterTrouble(world)
    this.#slots = new Slots(world.program.members.count, this.#trouble, world.draw, (slot) => this.#createMember(slot))
  }

  /** Starts all processes, runs the planned chaos, and heals. */
  async run(): Promise<void> {
    const { program, runtime, draw } = this.#world
    this.#trouble.begin()
    for (const source of this.#sources) source.start()
    for (const feeder of this.#feeders) feeder.start()
    const startedAt = runtime.clock.monotonic()
    for (const slot of this.#slots.list) {
      this.#slots.start(slot)
      if (draw.chance(0.5)) await runtime.timers.sleep(draw.between(0, 300))
    }
    for (const outage of program.outages) this.#trouble.planOutage(outage, () => this.#anyMember())
    await this.#trouble.befall(program.chaos, { startedAt, untilMs: program.chaosMs }, (kind) => this.#befall(kind))
    this.#heal()
  }

  /** Stops all processes gracefully. */
  async end(): Promise<void> {
    await Promise.all([
      this.#slots.left(),
      ...this.#slots.processes.map((member) => member.consumer.stop()),
      ...[...this.#sources, ...this.#feeders].map((producer) => producer.close()),
    ])
  }

  #anyMember(): string {
    return this.#world.draw.pick(this.#slots.processes)?.consumer.process.name ?? ''
  }

  #createMember({ index, incarnation }: Slot<Member>): Member {
    const { kind, members } = this.#world.program
    const name = `m${index}i${incarnation}`
    const instanceId = members.isStatic ? `instance-${index}` : undefined
    const member =
      kind === 'SETTLE'
        ? new SettlingMember(this.#world, name, instanceId)
        : new TransformingMember(this.#world, name, instanceId, `transform-${index}`)
    void member.run()
    return member
  }

  async #befall(kind: ChaosKind): Promise<void> {
    const { cluster, draw, program } = this.#world
    const slot = draw.pick(this.#slots.list)
    const node = draw.integer(1, program.brokers)
    switch (kind) {
      case 'REBALANCE':
        return this.#trouble.attempt(() => cluster.rebalance(groupId))
      case 'EXPIRE_MEMBER':
        return this.#trouble.attempt(() => {
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
        return this.#trouble.attempt(() => cluster.moveCoordinator('GROUP', groupId, node))
      case 'MOVE_TRANSACTION_COORDINATOR':
        cluster.moveCoordinator('TRANSACTION', draw.pick(['feeder-0', 'feeder-1', `transform-${slot.index}`]), node)
        return
      case 'MOVE_LEADER':
        return this.#moveLeader(node)
      case 'KILL_BROKER':
        return this.#trouble.killBroker(node)
      case 'GROW':
        return this.#grow()
      case 'DELETE_RECORDS':
        return this.#deleteRecords()
      case 'WALL_JUMP':
        return this.#trouble.jumpWallClock()
      case 'CUT':
        cluster.cut(draw.chance(0.5) ? { node } : { client: this.#anyMember() })
    }
  }

  #stop(slot: Slot<Member>): void {
    const { process: member } = slot
    if (member === null || member.consumer.isOver) return
    this.#slots.leave(member.consumer.stop())
    this.#slots.vacate(slot)
  }

  #kill(slot: Slot<Member>): void {
    slot.process?.consumer.process.kill()
    this.#slots.vacate(slot)
  }

  #freeze({ process: member }: Slot<Member>): void {
    const { draw, program, court } = this.#world
    if (member === null) return
    const forMs = draw.between(0.2, 2.5) * program.members.options.sessionTimeoutMs
    if (forMs > program.members.options.sessionTimeoutMs)
      court.reach('group: a member was stopped for longer than its session')
    member.consumer.freeze()
    this.#trouble.plan(forMs, () => member.consumer.process.thaw())
  }

  /** Starts a successor while the member is frozen. When it wakes up, the member may not have noticed. */
  #replace(slot: Slot<Member>): void {
    const { draw, program } = this.#world
    const { process: member } = slot
    if (member === null || member.consumer.isOver) return
    member.consumer.freeze()
    this.#slots.start(slot)
    const forMs = draw.between(0.1, 2) * program.members.options.sessionTimeoutMs
    const wake = async (): Promise<void> => {
      await this.#world.runtime.timers.sleep(forMs)
      member.consumer.process.thaw()
      await this.#world.runtime.timers.sleep(1_000)
      await member.consumer.stop()
    }
    this.#slots.leave(wake())
  }

  #moveLeader(node: number): void {
    const { topic, partition } = this.#world.draw.pick(this.#world.allJournals())
    this.#trouble.attempt(() => this.#world.cluster.moveLeader(topic, partition, node))
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
        court.note('chaos', () => String(error)) // The request failed.
      }
    }
  }

  /** Deletes old records, often including unread ones: retention may lose them by configuration. */
  #deleteRecords(): void {
    const { draw } = this.#world
    const journal = draw.pick(this.#world.inputs())
    const { highWatermark } = this.#world.cluster.partition(journal.topic, journal.partition)
    journal.deleteBefore(BigInt(Math.floor(draw.between(0, Number(highWatermark) + 1))))
  }

  #heal(): void {
    this.#trouble.heal()
    for (const slot of this.#slots.list)
      if (slot.process === null || slot.process.consumer.isOver) this.#slots.start(slot)
  }
}
