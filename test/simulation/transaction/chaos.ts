/** Injects faults into the transforming processes, their cluster and their logs. */

import { Crew } from '../world/crew.ts'
import { Operator } from './operator.ts'
import { type ChaosKind, groupId, outputTopic, sourceTopic, tierGroupId, tierTopic } from './program.ts'
import { Transformer } from './transformer.ts'
import type { World } from './world.ts'

/** See the file's comment. */
export class Chaos {
  readonly operator: Operator
  readonly #world: World
  readonly #crew: Crew<Transformer, ChaosKind>
  readonly #stopping: Promise<void>[] = []

  constructor(world: World) {
    this.#world = world
    this.operator = new Operator(world)
    this.#crew = new Crew(world, (index) => {
      const { trouble } = this.#crew
      return new Transformer(world, `p${index}`, {
        mayFail: () => !trouble.isOver,
        died: () => this.#crew.hireLater(),
        misses: () => this.#moveSometimes(),
        leaves: (transformer) => this.#stop(transformer),
      })
    })
  }

  /** Runs the planned chaos; then nothing fails any more. */
  async run(): Promise<void> {
    await this.#crew.weather(this.#world.program.processes, (kind, victim) => this.#befall(kind, victim))
  }

  /** Restarts missing processes. */
  restaff(): void {
    for (let count = this.#crew.alive.length; count < this.#world.program.processes; count++) this.#crew.hire()
  }

  /** Stops all processes gracefully. */
  async end(): Promise<void> {
    await Promise.all([...this.#stopping, ...this.#crew.alive.map((transformer) => transformer.stop())])
  }

  #befall(kind: ChaosKind, victim: Transformer): void {
    const { cluster, draw, program } = this.#world
    const { trouble } = this.#crew
    const [group, topic] = draw.pick([
      [groupId, sourceTopic],
      [groupId, sourceTopic],
      [tierGroupId, tierTopic],
    ] as const)
    const node = draw.integer(1, program.brokers)
    const partition = draw.integer(0, program.partitions - 1)
    switch (kind) {
      case 'KILL':
        victim.kill()
        return this.#crew.hireLater()
      case 'STOP':
        return this.#stop(victim)
      case 'FREEZE': {
        const forMs = draw.msOfMagnitude(100, 3 * program.sessionTimeoutMs)
        victim.freeze(forMs)
        return trouble.plan(forMs, () => victim.station.process.thaw())
      }
      case 'BROKER':
        return trouble.killBroker(node)
      case 'REBALANCE':
        return trouble.attempt(() => cluster.rebalance(group))
      case 'EXPIRE':
        return trouble.attempt(() => {
          const { members } = cluster.group(group)
          if (members.length > 0) cluster.expireMember(group, draw.pick(members).memberId)
        })
      case 'GROUP_COORDINATOR':
        return trouble.attempt(() => cluster.moveCoordinator('GROUP', group, node))
      case 'TRANSACTION_COORDINATOR':
        return trouble.attempt(() => cluster.moveCoordinator('TRANSACTION', `${topic}:${partition}:${group}`, node))
      case 'LEADER':
        return trouble.attempt(() => cluster.moveLeader(draw.pick([sourceTopic, outputTopic]), partition, node))
      case 'PAUSE':
        void this.operator.pause(victim, draw.msOfMagnitude(50, 4_000))
        return undefined
      case 'SEEK':
      case 'SKIP':
      case 'RESET':
        void this.operator.move(kind, this.#crew.alive)
        return undefined
      case 'RETENTION':
        return this.#deleteRecords(topic, partition)
    }
  }

  /** A process that wakes up must not undo a position moved meanwhile. */
  #moveSometimes(): void {
    const { draw } = this.#world
    if (draw.chance(0.7)) void this.operator.move(draw.pick(['SEEK', 'SKIP', 'RESET']), this.#crew.alive)
  }

  /** Stops it, at times without the time to complete running work. */
  #stop(transformer: Transformer): void {
    const { draw, program } = this.#world
    this.#stopping.push(transformer.stop(program.isCalm ? 5_000 : draw.pick([0, 200, 2_000, 5_000])))
    this.#crew.hireLater()
  }

  /** Deletes old records, often including unread ones. */
  #deleteRecords(topic: string, partition: number): void {
    const [journal] = this.#world.journalsOf(topic).filter((one) => one.partition === partition)
    journal?.deleteBefore(BigInt(this.#world.draw.integer(0, Number(journal.end))))
  }
}
