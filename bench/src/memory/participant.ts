/**
 * Runs a connector on a topic of packed batches in a process of its own. Prints what it holds, and how long its event loop
 * is busy.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnector } from '@waybill/connector'
import { noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { bootstrap, newGroupId } from '../kafka-client/contestant.ts'

/** The work of one run. */
export interface MemoryTask {
  readonly topic: string
  /** The handler calls after which the run is over; 0 for one that is over when health is DOWN. */
  readonly calls: number
  readonly maxBufferedBytes: number
  readonly maxBatchBytes: number
  /** Collects garbage within each call, to see what is held. The event loop is not measured then. */
  readonly isCollected: boolean
}

/** The printed result. Sizes are in bytes, of buffers outside the heap, without those of the idle connector. */
export interface MemoryResult {
  /** The most after a collection within a call. */
  readonly held: number
  /** The most that a sample saw, with garbage. */
  readonly peak: number
  /** The longest time between two samples that the event loop used its processor. A few turns may lie between them. */
  readonly turnCpuMs: number
  /** The longest delay of a timer, which includes the time that the processor was given to other processes. */
  readonly delayMs: number
  readonly healthReasons: readonly string[]
}

const task = JSON.parse(process.argv[2] ?? '') as MemoryTask
const handlerMs = 20
const all = Promise.withResolvers<void>()
let calls = 0
let idle = 0
let held = 0
let peak = 0
let turnCpuMs = 0
let lastCpu = process.threadCpuUsage()

function buffers(): number {
  return process.memoryUsage().arrayBuffers
}

/** Collects twice, and waits: other threads release the memory of buffers, some time after the collection. */
async function collect(): Promise<void> {
  for (let time = 0; time < 2; time++) {
    globalThis.gc?.()
    await sleep(50)
  }
}

function sample(): void {
  peak = Math.max(peak, buffers() - idle)
  const { user, system } = process.threadCpuUsage(lastCpu)
  turnCpuMs = Math.max(turnCpuMs, (user + system) / 1_000)
  if (task.calls === 0 && connector.health().status === 'DOWN') all.resolve()
  lastCpu = process.threadCpuUsage()
}

async function handler(): Promise<void> {
  await sleep(handlerMs)
  if (task.isCollected) {
    await collect()
    held = Math.max(held, buffers() - idle)
  }
  if (++calls === task.calls) all.resolve()
}

const { topic, maxBufferedBytes, maxBatchBytes } = task
const connector = createConnector({
  clusters: { default: createKafkaClient({ brokers: [bootstrap] }) },
  bindings: {
    // The tiers would be polled too.
    memory: {
      topic,
      groupId: newGroupId(),
      maxBufferedBytes,
      maxBatchBytes,
      failureProfile: 'BEST_EFFORT_SKIP',
      handler,
    },
  },
  derivedTopics: 'CREATE',
  runtime: runtimeWith({ logger: noopLogger }),
})
await collect()
idle = buffers()
const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()
lastCpu = process.threadCpuUsage()
const sampling = setInterval(sample, 1)
await connector.start()
await all.promise
clearInterval(sampling)
const result: MemoryResult = {
  held,
  peak,
  turnCpuMs,
  delayMs: delays.max / 1e6,
  healthReasons: connector.health().reasons,
}
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)
