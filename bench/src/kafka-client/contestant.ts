/** What every client is asked to do, in a process of its own. */

/** A number of records and what they cost. */
export interface Throughput {
  readonly perSecond: number
  /** CPU of the whole client process, user and system. */
  readonly cpuMicrosPerRecord: number
}

/** Delays between send and receipt. */
export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
}

/** One client. */
export interface Contestant {
  /** Reads `count` records of a filled topic from the beginning, looking at each value. */
  consume(topic: string, count: number): Promise<Throughput>
  /** Writes `count` records with as many calls in flight as `shape` says. */
  produce(topic: string, count: number, bytes: number, shape: ProduceShape): Promise<Throughput>
  /** Sends at a steady rate and receives in the same process. */
  latency(topic: string, perSecond: number, seconds: number): Promise<Latency>
}

/** BATCH: 500 records a call, 5 calls in flight. SINGLE: one record a call, 1,000 calls in flight. */
export type ProduceShape = 'BATCH' | 'SINGLE'

export const bootstrap: string = process.env['KAFKA_BOOTSTRAP'] ?? '127.0.0.1:9092'

/** Times a stretch of work that says itself when its first record came. */
export class Meter {
  readonly #cpu = process.cpuUsage()
  #startedAt = performance.now()
  #hasStarted = false

  /** Rates count from the first record: joining a group is not what is measured. */
  first(): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    this.#startedAt = performance.now()
  }

  stop(count: number): Throughput {
    const seconds = (performance.now() - this.#startedAt) / 1_000
    const { user, system } = process.cpuUsage(this.#cpu)
    return { perSecond: count / seconds, cpuMicrosPerRecord: (user + system) / count }
  }
}

/** A group that nobody was in before. */
export function newGroupId(): string {
  return `bench-${process.pid}-${Date.now()}`
}

/** Sends `count` numbered records as `shape` says; one call of `send` takes those from `from` to below `to`. */
export async function sendAll(
  shape: ProduceShape,
  count: number,
  send: (from: number, to: number) => Promise<unknown>,
): Promise<void> {
  const [perCall, calls] = shape === 'BATCH' ? [500, 5] : [1, 1_000]
  let next = 0
  const call = async (): Promise<void> => {
    while (next < count) {
      const from = next
      next = Math.min(count, from + perCall)
      await send(from, next)
    }
  }
  await Promise.all(Array.from({ length: calls }, call))
}

/** Sums up delays, leaving out the first second: everybody's code is cold there. */
export function summarise(delaysMs: Float64Array, warmCount: number): Latency {
  const sorted = delaysMs.slice(warmCount).toSorted()
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] as number
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}

/** Sends `total` numbered records at a steady rate. */
export async function atRate(perSecond: number, total: number, send: (index: number) => void): Promise<void> {
  const startedAt = performance.now()
  for (let index = 0; index < total; index++) {
    const waitMs = startedAt + (index * 1_000) / perSecond - performance.now()
    if (waitMs > 0.5) await new Promise((resolve) => setTimeout(resolve, waitMs))
    send(index)
  }
}

/** A value that says when it was sent. */
export function stamped(index: number): Buffer {
  const value = Buffer.alloc(100)
  value.writeInt32BE(index, 0)
  value.writeDoubleBE(performance.now(), 4)
  return value
}

/** Collects {@link stamped} values until all have come. */
export class Arrivals {
  readonly delaysMs: Float64Array
  readonly #all = Promise.withResolvers<void>()
  #missing: number

  constructor(total: number) {
    this.delaysMs = new Float64Array(total)
    this.#missing = total
  }

  take(value: Buffer): void {
    this.delaysMs[value.readInt32BE(0)] = performance.now() - value.readDoubleBE(4)
    if (--this.#missing === 0) this.#all.resolve()
  }

  get all(): Promise<void> {
    return this.#all.promise
  }
}
