/** Sends plain records, in bursts, from one process after another until all are sent. */

import type { KafkaError, Producer, SendResult } from '@waybill/kafka'
import type { Station } from '../world/cluster-world.ts'
import type { SourcePlan } from './program.ts'
import type { World } from './world.ts'

/** A producer's program, across restarts of its process. */
export class RecordSource {
  readonly #world: World
  readonly #plan: SourcePlan
  readonly #name: string
  #incarnation = 0
  #station: Station | null = null
  #left: number
  #number = 0
  /** Sends in flight of the current process. */
  #pending = 0

  constructor(world: World, name: string, plan: SourcePlan) {
    this.#world = world
    this.#name = name
    this.#plan = plan
    this.#left = plan.records
  }

  /** True when every record is sent and has its result. */
  get isDone(): boolean {
    return this.#left === 0 && this.#pending === 0
  }

  /** Starts a new process that continues with the remaining records. */
  start(): void {
    this.#pending = 0
    const name = `${this.#name}i${++this.#incarnation}`
    this.#station = this.#world.station(name)
    void this.#run(this.#station, name)
  }

  kill(): void {
    this.#station?.process.kill()
    this.start()
  }

  async close(): Promise<void> {
    await this.#station?.client.close()
  }

  async #run(station: Station, name: string): Promise<void> {
    const { draw, program } = this.#world
    const { preset, options, records, burst } = this.#plan
    const producer = station.client.producer(preset, options)
    const pauseMs = (program.chaosMs * burst) / records
    while (this.#left > 0) {
      const count = Math.min(this.#left, draw.integer(1, burst))
      for (let index = 0; index < count; index++) this.#send(producer, name)
      if (draw.chance(0.1)) await producer.flush()
      await station.process.runtime.timers.sleep(draw.between(0, pauseMs))
    }
  }

  #send(producer: Producer, name: string): void {
    const { draw, sends, program } = this.#world
    const { topics, hugeRate } = this.#plan
    this.#left--
    this.#pending++
    const id = `${name}.${++this.#number}`
    const topic = draw.pick(topics)
    const isHuge = draw.chance(hugeRate)
    const value = Buffer.from(`${id} ${'.'.repeat(isHuge ? program.maxBatchBytes : draw.integer(0, 100))}`)
    // By partition, by key, or in turn.
    const way = draw.integer(0, 2)
    const partition = draw.integer(0, this.#world.journalsOf(topic).length - 1)
    sends.sent(id, name, topic)
    const written = producer.send({
      topic,
      key: way === 1 ? Buffer.from(`key ${draw.integer(0, 5)}`) : null,
      value: isHuge && program.maxBatchBytes > 10_000 ? Buffer.from(id) : value,
      ...(way === 0 ? { partition } : {}),
    })
    void this.#follow(name, id, written)
  }

  async #follow(name: string, id: string, sending: Promise<SendResult>): Promise<void> {
    const { sends, court } = this.#world
    const startedAt = this.#world.now()
    try {
      const written = await sending
      sends.written(id, written)
      court.note(name, () => `${id} is at ${written.partition}@${written.offset}`)
    } catch (error) {
      this.#failed(name, id, error as KafkaError)
      this.#checkTime(name, id, startedAt)
    }
    this.#pending--
  }

  #failed(name: string, id: string, { kind, message }: KafkaError): void {
    const { sends, court } = this.#world
    court.note(name, () => `${id} ${kind}: ${message}`)
    sends.failed(id, kind === 'UNKNOWN')
    court.reach(
      kind === 'UNKNOWN' ? 'produce: the outcome of a send is unknown' : 'produce: a record is reported as not written',
    )
    if (message.includes('the buffer is full')) court.reach('produce: a send waits for space')
  }

  #checkTime(name: string, id: string, startedAt: number): void {
    const { deliveryTimeoutMs = 30_000 } = this.#plan.options
    const tookMs = this.#world.now() - startedAt
    if (tookMs > deliveryTimeoutMs + 1 && this.#station?.process.name === name)
      this.#world.court.violate('L1', `${id} got its result after ${tookMs} ms, and ${deliveryTimeoutMs} are allowed`)
  }
}
