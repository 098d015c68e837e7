/** A process that replays: an operator who retries, or a running binding with its schedule. */

import { type Connector, createConnector, ReplayInterruptedError } from '@waybill/connector'
import { isWaybillError } from '@waybill/core'
import type { Station } from '../world/cluster-world.ts'
import { groupId, sourceTopic } from './program.ts'
import type { World } from './world.ts'

/** See the file's comment. */
export class Replayer {
  readonly station: Station
  readonly #world: World
  readonly #died: () => void
  readonly #connector: Connector
  #isOver = false
  #isReplaying = false
  #done: Promise<void> = Promise.resolve()

  /** @param died - called to end the process and start another one */
  constructor(world: World, name: string, died: (replayer: Replayer) => void) {
    this.#died = () => died(this)
    const { target, batchSize, maxReplays, cooldownMs, by } = world.program
    this.#world = world
    this.station = world.station(name)
    const { client, process } = this.station
    const strategy = by === 'SCHEDULES' ? 'SCHEDULED_REPLAY' : 'STORE_ONLY'
    this.#connector = createConnector({
      administration: { auditLog: { write: () => {} }, permits: () => true },
      clusters: { default: client },
      runtime: { ...process.runtime, failpoint: (point) => this.#linger(point) },
      derivedTopics: 'ASSUME',
      instance: name,
      bindings: {
        work: {
          topic: sourceTopic,
          groupId,
          retry: { tiers: [{ delayMs: 100 }] },
          dlt: { strategy, replay: { target, batchSize, maxReplays, cooldownMs, intervalMs: 1_000 } },
          handler: () => {},
        },
      },
    })
  }

  get isAlive(): boolean {
    return this.station.process.isAlive
  }

  get isReplaying(): boolean {
    return this.#isReplaying || this.#world.program.by === 'SCHEDULES'
  }

  start(): void {
    this.#done = this.#world.program.by === 'SCHEDULES' ? this.#run() : this.#ask()
  }

  /** Stops gracefully, or with its process. */
  async stop(): Promise<void> {
    this.#isOver = true
    if (!this.station.process.isAlive) return
    await this.#done
    await this.#connector.stop({ deadlineMs: 5_000 }).catch(() => {})
    await this.station.client.close()
  }

  /** Waits between a write and its commit, where some processes freeze or die. */
  async #linger(point: string): Promise<void> {
    const { draw, program, court } = this.#world
    const { process } = this.station
    if (point !== 'replay.sent') return
    if (draw.chance(program.deathRate) && !this.#isOver) {
      court.note(process.name, () => 'dies between a write and its commit')
      court.reach('kill: copies are confirmed and not committed')
      this.#died()
      await new Promise(() => {})
    }
    if (program.lingerMs > 0) await process.runtime.timers.sleep(draw.ms(0, program.lingerMs))
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      try {
        return await this.#connector.start()
      } catch (error) {
        this.#checkError(error)
        return // The next process retries.
      }
    }
  }

  async #ask(): Promise<void> {
    const { draw, court, program } = this.#world
    const { timers } = this.station.process.runtime
    const { name } = this.station.process
    while (!this.#isOver) {
      await timers.sleep(draw.ms(0, 3_000))
      const count = draw.integer(1, program.letters.length)
      this.#isReplaying = true
      try {
        const { replayed, remaining } = await this.#connector.admin.replayDlt('work', { count }, { by: name })
        court.note(name, () => `replayed ${replayed} of ${count}, ${remaining} remain`)
        if (replayed > count) court.violate('S0-140', `${name} asked for ${count} and got ${replayed}`)
        if (remaining > 0n && replayed < count) court.reach('replay: it leaves something to others')
      } catch (error) {
        if (error instanceof ReplayInterruptedError) court.reach('replay: it is interrupted')
        this.#checkError(error)
      }
      this.#isReplaying = false
    }
  }

  #checkError(error: unknown): void {
    const { court } = this.#world
    court.note(this.station.process.name, () => String(error))
    if (!isWaybillError(error)) court.violate('RUN', `${this.station.process.name}: ${String(error)}`)
  }
}
