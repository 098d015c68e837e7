/** Topics come, processes come and go: whatever was written to a topic that matches is handled, and accounted for. */

import { expect, test } from 'vitest'
import type { Connector } from '../../src/api/connector.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const steps = 25
const seeds = Array.from({ length: 8 }, (_, at) => at + 1)

class Drive {
  readonly written: string[] = []
  readonly handled: string[] = []
  readonly #world: ConnectorWorld
  readonly #topics: string[] = []
  #running: Connector[] = []
  #isCalm = false

  constructor(world: ConnectorWorld) {
    this.#world = world
  }

  async step(): Promise<void> {
    const { random } = this.#world.runtime
    const drawn = random()
    if (drawn < 0.25 || this.#topics.length === 0) this.#create()
    else if (drawn < 0.65) await this.#write()
    else if (drawn < 0.8 && this.#running.length < 3) await this.#start()
    else await this.#stop()
    await this.#world.sleep(Math.floor(random() * 15_000))
  }

  /** From now on every handler succeeds, and at least one process runs. */
  async calm(): Promise<Connector> {
    this.#isCalm = true
    if (this.#running.length === 0) await this.#start()
    return this.#running[0] as Connector
  }

  #create(): void {
    const topic = `orders.${this.#topics.length}`
    this.#world.sim.createTopic(topic, { partitions: 1 + Math.floor(this.#world.runtime.random() * 3) })
    this.#topics.push(topic)
  }

  async #write(): Promise<void> {
    const topic = this.#topics[Math.floor(this.#world.runtime.random() * this.#topics.length)] as string
    const values = [1, 2, 3].map((at) => `${topic} ${this.written.length + at}`)
    this.written.push(...values)
    await this.#world.write(topic, values)
  }

  async #start(): Promise<void> {
    const bus = this.#world.connector({
      bindings: {
        shipping: {
          topic: /^orders\./,
          groupId: 'shipping',
          topicRefreshMs: 5_000,
          concurrency: 2,
          retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 2_000, maxAttempts: 100 }] },
          handler: async ({ value }) => {
            await this.#world.sleep(Math.floor(this.#world.runtime.random() * 200))
            if (!this.#isCalm && this.#world.runtime.random() < 0.2) throw new Error('for the moment')
            this.handled.push(String(value))
          },
        },
      },
    })
    await bus.start()
    this.#running.push(bus)
  }

  async #stop(): Promise<void> {
    const [first, ...others] = this.#running
    this.#running = others
    await first?.stop()
  }
}

test.each(seeds)('seed %i: every record of every topic that matches is handled', (seed) =>
  connectorWorld(
    async (world) => {
      const drive = new Drive(world)
      for (let step = 0; step < steps; step++) await drive.step()
      const bus = await drive.calm()
      await world.eventually(() => expect(new Set(drive.handled)).toEqual(new Set(drive.written)))
      const audit = await bus.audit()
      expect(audit.filter(({ problem, missing }) => problem !== undefined || missing > 0n)).toEqual([])
      // No process was killed, so no record is handled twice.
      expect(drive.handled).toHaveLength(drive.written.length)
    },
    { seed },
  ),
)
