/** Writes the records of the source, in bursts, until all have a result. */

import { Buffer } from 'node:buffer'
import type { Station } from '../world/cluster-world.ts'
import type { World } from './world.ts'

/** See the file's comment. A record of unknown outcome is not sent again: the log shows whether it was written. */
export class RecordFeeder {
  readonly #world: World
  readonly #station: Station
  #left: number

  constructor(world: World) {
    this.#world = world
    this.#station = world.station('feeder')
    this.#left = world.program.records.length
  }

  get isDone(): boolean {
    return this.#left === 0
  }

  async run(): Promise<void> {
    const { program, draw } = this.#world
    const { records, burst, chaosMs } = program
    const producer = this.#station.client.producer('EVENT', {
      requestTimeoutMs: 1_000,
      deliveryTimeoutMs: 10_000,
      lingerMs: 0,
    })
    for (let next = 0; next < records.length; ) {
      const count = draw.integer(1, burst)
      for (const { topic, key, value, headers } of records.slice(next, next + count)) {
        const sent = producer.send({
          topic,
          key: key === null ? null : Buffer.from(key),
          value: value === null ? null : Buffer.from(value),
          headers: headers.map(([name, text]) => [name, text === null ? null : Buffer.from(text)] as const),
        })
        const settled = (): void => {
          this.#left--
        }
        sent.then(settled, settled)
      }
      next += count
      await this.#station.process.runtime.timers.sleep(draw.between(0, (1.6 * chaosMs * count) / records.length))
    }
  }

  async close(): Promise<void> {
    await this.#station.client.close()
  }
}
