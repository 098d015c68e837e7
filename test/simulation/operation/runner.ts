/** A process that runs operations. */

import { createOperations, type Operations } from '@waybill/admin'
import { createConnector } from '@waybill/connector'
import type { Station } from '../world/cluster-world.ts'
import { faultyStore } from './faulty-store.ts'
import { groupId, leaseMs, sourceTopic } from './program.ts'
import type { RareState } from './rare-states.ts'
import type { World } from './world.ts'

const killed: Readonly<Record<string, RareState>> = {
  'operation.intended': 'kill: a batch is intended',
  'operation.sent': 'kill: a batch is sent',
  'operation.settled': 'kill: a batch is settled',
}

/** See the file's comment. */
export class Runner {
  readonly station: Station
  readonly operations: Operations
  readonly #world: World
  readonly #died: () => void
  #isOver = false

  /** @param died - called to end the process and start another one */
  constructor(world: World, name: string, died: (runner: Runner) => void) {
    const { maxReplays } = world.program
    this.#world = world
    this.#died = () => died(this)
    this.station = world.station(name)
    const { client, process } = this.station
    const administration = { auditLog: { write: () => {} }, permits: () => true }
    const runtime = { ...process.runtime, failpoint: (point: string) => this.#linger(point) }
    const connector = createConnector({
      administration,
      clusters: { default: client },
      runtime,
      derivedTopics: 'ASSUME',
      instance: name,
      bindings: {
        work: {
          topic: sourceTopic,
          groupId,
          retry: { tiers: [{ delayMs: 100 }] },
          dlt: { replay: { maxReplays } },
          handler: () => {},
        },
      },
    })
    this.operations = createOperations({
      connector,
      store: faultyStore(world, process),
      instance: name,
      administration,
      leaseMs,
      pollMs: 1_000,
      runtime,
    })
  }

  get isAlive(): boolean {
    return this.station.process.isAlive && !this.#isOver
  }

  start(): void {
    void this.operations.start()
  }

  /** Stops gracefully: operations are left to other processes. */
  async stop(): Promise<void> {
    if (this.#isOver || !this.station.process.isAlive) return
    this.#isOver = true
    await this.operations.stop({ deadlineMs: 60_000 }).catch(() => {})
    await this.station.client.close()
  }

  async #linger(point: string): Promise<void> {
    const { draw, program, court, isStormy } = this.#world
    const { process } = this.station
    const state = killed[point]
    if (state === undefined || !isStormy) return
    if (draw.chance(program.deathRate) && !this.#isOver) {
      court.note(process.name, () => `dies at ${point}`)
      court.reach(state)
      this.#died()
      await new Promise(() => {})
    }
    if (program.lingerMs > 0 && draw.chance(0.2)) await process.runtime.timers.sleep(draw.ms(0, program.lingerMs))
  }
}
