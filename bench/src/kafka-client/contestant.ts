/** What every client is asked to do, in a process of its own. */

import { keyOf, payloads } from './payloads.ts'

/** A number of records and what they cost. */
export interface Throughput {
  readonly perSecond: number
  /** CPU of the whole client process, user and system. */
  readonly cpuMicrosPerRecord: number
}

/** A producer and a consumer of one topic in one process. */
export interface Relay extends AsyncDisposable {
  /** Sends a record by itself. A failure ends the process: there is no latency of a record that was lost. */
  send(index: number, value: Buffer): void
}

/** One client. */
export interface Contestant {
  /** Reads `count` records of a filled topic from the beginning, looking at each value. */
  consume(topic: string, count: number): Promise<Throughput>
  /** Writes `count` records with as many calls in flight as `shape` says. */
  produce(topic: string, count: number, bytes: number, shape: ProduceShape): Promise<Throughput>
  /** Opens a {@link Relay} that hands every value over as soon as it is received. */
  relay(topic: string, take: (value: Buffer) => void): Promise<Relay>
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
 * Times how long `count` records take to be written as `shape` says, after one that opens the way.
 *
 * @param make - what the client is handed for one record, made where its own code would make it
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
