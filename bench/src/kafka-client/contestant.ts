/** The work of every client, each in a process of its own. */

import type { PassMeter } from '../passes/pass-meter.ts'
import type { Reads } from '../passes/pass-result.ts'
import { keyOf, payloads } from './payloads.ts'

/** The time and the CPU of a number of records. */
export interface Cost {
  readonly seconds: number
  /** User and system CPU of the whole client process. */
  readonly cpuSeconds: number
}

/** A producer and a consumer of one topic in one process. */
export interface Relay extends AsyncDisposable {
  /** Sends a single record. A failure ends the process: a lost record has no latency. */
  send(index: number, value: Buffer): void
}

/** The writing of `count` records to an empty topic. */
export interface ProduceTask {
  readonly topic: string
  readonly count: number
  readonly bytes: number
  readonly shape: ProduceShape
}

/** One client. */
export interface Contestant {
  /** Reads a filled topic from the beginning until the meter is finished. */
  readonly consume?: (topic: string, reads: Reads, meter: PassMeter) => Promise<void>
  /** Writes records with the calls in flight of the shape. */
  readonly produce?: (task: ProduceTask) => Promise<Cost>
  /** Opens a {@link Relay} that passes on every value as soon as it is received. */
  readonly relay?: (topic: string, take: (value: Buffer) => void) => Promise<Relay>
}

/** BATCH: 500 records per call, 5 calls in flight. SINGLE: one record per call, 1,000 calls in flight. */
export type ProduceShape = 'BATCH' | 'SINGLE'

export const bootstrap: string = process.env['KAFKA_BOOTSTRAP'] ?? '127.0.0.1:9092'

let groups = 0

/** Returns a group id that was never used. */
export function newGroupId(): string {
  return `bench-${process.pid}-${Date.now()}-${groups++}`
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
 * Times the writing of `count` records, after one that opens the connections: its number is `count`.
 *
 * @param make - creates one record in the client's own form, where its own code would
 */
export async function measureProduce<M>(
  { count, bytes, shape }: ProduceTask,
  make: (key: Buffer, value: Buffer) => M,
  send: (messages: M[]) => Promise<unknown>,
): Promise<Cost> {
  const values = payloads(bytes)
  const sendRange = (from: number, to: number): Promise<unknown> => {
    const messages: M[] = []
    for (let index = from; index < to; index++) messages.push(make(keyOf(index), values[index & 1_023] as Buffer))
    return send(messages)
  }
  await sendRange(count, count + 1)
  return costOf(() => sendAll(shape, count, sendRange))
}

/** Times one call. */
export async function costOf(work: () => Promise<void>): Promise<Cost> {
  const startedAt = performance.now()
  const cpu = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { seconds: (performance.now() - startedAt) / 1_000, cpuSeconds: (user + system) / 1e6 }
}
