/** The work of every client, each in a process of its own. */

import { keyOf, payloads } from './payloads.ts'

/** The throughput and cost of a number of records. */
export interface Throughput {
  readonly perSecond: number
  /** User and system CPU of the whole client process. */
  readonly cpuMicrosPerRecord: number
}

/** A producer and a consumer of one topic in one process. */
export interface Relay extends AsyncDisposable {
  /** Sends a single record. A failure ends the process: a lost record has no latency. */
  send(index: number, value: Buffer): void
}

/** One client. */
export interface Contestant {
  /** Reads `count` records of a filled topic from the beginning, and each value. */
  consume(topic: string, count: number): Promise<Throughput>
  /** Writes `count` records with the calls in flight of `shape`. */
  produce(topic: string, count: number, bytes: number, shape: ProduceShape): Promise<Throughput>
  /** Opens a {@link Relay} that passes on every value as soon as it is received. */
  relay(topic: string, take: (value: Buffer) => void): Promise<Relay>
}

/** BATCH: 500 records per call, 5 calls in flight. SINGLE: one record per call, 1,000 calls in flight. */
export type ProduceShape = 'BATCH' | 'SINGLE'

export const bootstrap: string = process.env['KAFKA_BOOTSTRAP'] ?? '127.0.0.1:9092'

/** Times work that reports its first record. */
export class Meter {
  readonly #cpu = process.cpuUsage()
  #startedAt = performance.now()
  #hasStarted = false

  /** Starts the clock. Rates count from the first record: joining a group is not measured. */
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

/** Returns a group id that was never used. */
export function newGroupId(): string {
  return `bench-${process.pid}-${Date.now()}`
}

/** Sends `count` numbered records in `shape`; one call of `send` takes those from `from` to below `to`. */
async function sendAll(
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

/**
 * Times the writing of `count` records in `shape`, after one that opens the connections.
 *
 * @param make - creates one record in the client's own form, where its own code would
 */
export async function measureProduce<M>(
  { count, bytes, shape }: { readonly count: number; readonly bytes: number; readonly shape: ProduceShape },
  make: (key: Buffer, value: Buffer) => M,
  send: (messages: M[]) => Promise<unknown>,
): Promise<Throughput> {
  const values = payloads(bytes)
  const sendRange = (from: number, to: number): Promise<unknown> => {
    const messages: M[] = []
    for (let index = from; index < to; index++) messages.push(make(keyOf(index), values[index & 1_023] as Buffer))
    return send(messages)
  }
  await sendRange(0, 1)
  const meter = new Meter()
  await sendAll(shape, count, sendRange)
  return meter.stop(count)
}
