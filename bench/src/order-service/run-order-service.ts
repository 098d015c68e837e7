/** The order service with two instances, beside the same service without outbox and idempotency keys. */

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchOptions } from '../bench-options.ts'
import { compare } from '../statistics.ts'
import { OrderFleet } from './order-fleet.ts'
import { type LoadResult, OrderLoad } from './order-load.ts'

const blockMs = 8_000
const proofMs = 120_000
const restartAfterMs = 5_000

interface Block {
  readonly perSecond: number
  readonly p99Ms: number
  readonly cpuMs: number
}

/** Runs the comparison, and then two minutes in which an instance is killed. */
export async function runOrderServiceBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  if ('throughput p99 CPU'.includes(only) || only === '') await runComparison({ rounds, progress, report })
  if ('kill'.includes(only)) await runProof(progress)
}

async function runComparison({ rounds, progress, report }: Omit<BenchOptions, 'only'>): Promise<void> {
  await using protectedFleet = await OrderFleet.start('ON', 4_300)
  await using bareFleet = await OrderFleet.start('OFF', 4_310)
  const blocks = { ON: [] as Block[], OFF: [] as Block[] }
  for (let round = 0; round <= rounds; round++) {
    const turns = [
      ['ON', protectedFleet],
      ['OFF', bareFleet],
    ] as const
    for (const [protection, fleet] of round % 2 === 0 ? turns : turns.toReversed()) {
      progress(`round ${round} of ${rounds}, protection ${protection}${round === 0 ? ', not counted' : ''}`)
      const block = await measure(fleet)
      if (round > 0) blocks[protection].push(block)
    }
  }
  const cases = [
    ['throughput', 'requests/s', 'perSecond'],
    ['p99', 'ms', 'p99Ms'],
    ['CPU of the service', 'ms/request', 'cpuMs'],
  ] as const
  for (const [name, unit, value] of cases)
    report(
      compare(
        { bench: 'order-service', case: name, unit, reference: 'without' },
        blocks.ON.map((block) => block[value]),
        blocks.OFF.map((block) => block[value]),
        value !== 'perSecond',
      ),
    )
}

async function measure(fleet: OrderFleet): Promise<Block> {
  using load = new OrderLoad(fleet.urls)
  const before = await fleet.cpuMs()
  const result = await load.run(sleep(blockMs))
  await fleet.settle() // Work that is left behind belongs to this turn, and must not disturb the next one.
  const cpuMs = ((await fleet.cpuMs()) - before) / result.latenciesMs.length
  requireAnswers(result)
  return { perSecond: result.latenciesMs.length / result.seconds, p99Ms: p99Of(result.latenciesMs), cpuMs }
}

/** Kills an instance in the middle of the load, and counts orders, events and effects in the end. */
async function runProof(progress: (text: string) => void): Promise<void> {
  await using fleet = await OrderFleet.start('ON', 4_320)
  using load = new OrderLoad(fleet.urls)
  progress('two minutes of load, an instance is killed in the middle')
  const half = sleep(proofMs / 2)
  const crash = half.then(() => fleet.crash(0, sleep(restartAfterMs)))
  const result = await load.run(Promise.all([sleep(proofMs), crash]))
  const open = await load.settle()
  const deadline = performance.now() + 120_000
  while ((await fleet.count('order_regions')) < load.keys && performance.now() < deadline) await sleep(500)
  const counts = {
    orders: await fleet.count('orders'),
    keys: await fleet.count('(SELECT DISTINCT owner_subject, idempotency_key FROM orders) AS keys'),
    published: await fleet.count('outbox_event WHERE status = 1'),
    waiting: await fleet.count('outbox_event WHERE status <> 1'),
    processed: await fleet.count('processed_events'),
    effects: await fleet.count('order_regions'),
  }
  progress(
    `${result.latenciesMs.length} requests in ${Math.round(result.seconds)} s, p99 ${Math.round(p99Of(result.latenciesMs))} ms, ` +
      `statuses ${[...result.statuses].map(([status, count]) => `${status}: ${count}`).join(', ')}`,
  )
  progress(
    `${load.keys} keys, ${load.repeats} repeats, ${open} answered after the load; ${load.doubled} answered with two orders; ` +
      JSON.stringify(counts),
  )
  assert.equal(load.doubled, 0, 'a key was answered with two orders')
  assert.equal(counts.orders, load.keys, 'orders that were asked for and orders that there are')
  assert.equal(counts.keys, load.keys, 'a key has two orders')
  assert.equal(counts.published, load.keys, 'an event was not published')
  assert.equal(counts.waiting, 0, 'an event is not published')
  assert.equal(counts.effects, load.keys, 'an event had no effect')
  assert.equal(counts.processed, load.keys, 'an event was processed twice')
}

/** A block that was rejected by a rate limit or by pressure measures nothing. */
function requireAnswers({ statuses, latenciesMs }: LoadResult): void {
  const served = (statuses.get(200) ?? 0) + (statuses.get(201) ?? 0)
  assert.ok(
    served >= latenciesMs.length * 0.99,
    `Only ${served} of ${latenciesMs.length} requests were served: ${JSON.stringify([...statuses])}`,
  )
}

function p99Of(latencies: readonly number[]): number {
  return latencies.toSorted((one, other) => one - other)[Math.floor(latencies.length * 0.99)] ?? 0
}
