/**
 * The participant's side of the latency case. It opens its client once; for every number it reads from its input it sends
 * that many records at a steady rate, waits until all are received, and prints their delays. The benchmark decides when
 * each client is measured, so that blocks of several clients alternate.
 */

import { createInterface } from 'node:readline'
import type { Contestant, Relay } from './contestant.ts'

/** Serves the input until it ends. */
export async function serveLatencyBlocks(
  client: Pick<Required<Contestant>, 'relay'>,
  topic: string,
  perSecond: number,
): Promise<void> {
  const arrivals = new Arrivals()
  await using relay = await client.relay(topic, (value) => arrivals.take(value))
  for await (const line of createInterface({ input: process.stdin })) {
    const all = arrivals.expect(Number(line))
    await sendAtRate(relay, Number(line), perSecond)
    process.stdout.write(`${JSON.stringify(await all)}\n`)
  }
}

async function sendAtRate(relay: Relay, count: number, perSecond: number): Promise<void> {
  const startedAt = performance.now()
  for (let index = 0; index < count; index++) {
    const waitMs = startedAt + (index * 1_000) / perSecond - performance.now()
    if (waitMs > 0.5) await new Promise((resolve) => setTimeout(resolve, waitMs))
    relay.send(index, stamped(index))
  }
}

/** Creates a value that carries its time of sending. */
function stamped(index: number): Buffer {
  const value = Buffer.alloc(100)
  value.writeInt32BE(index, 0)
  value.writeDoubleBE(performance.now(), 4)
  return value
}

/** Collects the delays of {@link stamped} values, one block at a time. */
class Arrivals {
  #delaysMs: number[] = []
  #missing = 0
  #all = Promise.withResolvers<number[]>()

  /** Resolves with the delays of the next `count` records, in the order in which they were sent. */
  expect(count: number): Promise<number[]> {
    this.#delaysMs = Array(count)
    this.#missing = count
    this.#all = Promise.withResolvers()
    return this.#all.promise
  }

  take(value: Buffer): void {
    this.#delaysMs[value.readInt32BE(0)] = performance.now() - value.readDoubleBE(4)
    if (--this.#missing === 0) this.#all.resolve(this.#delaysMs)
  }
}
