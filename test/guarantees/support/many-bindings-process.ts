/**
 * A connector that registers its bindings one after the other while it runs, from data that names a handler. It
 * measures their cost, and stops on signals.
 */

import { createConnector, HandlerRegistry, type RecordHandler } from '@waybill/connector'
import { applicationOperator, noopLogger, runtimeWith, stopOnSignals } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'

/** The task of the process. */
export interface ManyBindingsTask {
  readonly brokers: readonly string[]
  /** Each has one initial record, and gets another one that runs when the process is terminated. */
  readonly topics: readonly string[]
  readonly groupId: string
  /** How long nothing is written while the CPU is measured. */
  readonly idleMs: number
  readonly deadlineMs: number
}

/** The resources that the process uses. */
export interface Footprint {
  readonly rssBytes: number
  readonly heapBytes: number
  readonly connections: number
}

/** Its messages. */
export type ManyBindingsMessage =
  | { readonly kind: 'EMPTY'; readonly footprint: Footprint }
  | { readonly kind: 'REGISTERED'; readonly footprint: Footprint }
  | { readonly kind: 'IDLE'; readonly footprint: Footprint; readonly cpuMs: number; readonly ms: number }
  | { readonly kind: 'RUNNING' }
  | { readonly kind: 'STOPPING' }
  | { readonly kind: 'STOPPED'; readonly stillRunning: readonly string[] }

const task = JSON.parse(process.argv[2] ?? '') as ManyBindingsTask
const tell = (message: ManyBindingsMessage): void => void (process.connected && process.send?.(message))
const runtime = runtimeWith({ logger: noopLogger })
const first = Promise.withResolvers<void>()
const last = Promise.withResolvers<void>()
let handled = 0
let running = 0

const handler: RecordHandler = async (_record, { signal }) => {
  if (++handled === task.topics.length) first.resolve()
  if (handled <= task.topics.length) return
  if (++running === task.topics.length) last.resolve()
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

function footprint(): Footprint {
  const { rss, heapUsed } = process.memoryUsage()
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap')
  return { rssBytes: rss, heapBytes: heapUsed, connections: sockets.length }
}

const kafka = createKafkaClient({ brokers: task.brokers })
const code = { handlers: new HandlerRegistry({ work: handler }) }
const connector = createConnector({ clusters: { default: kafka }, code, runtime })
const { stopped } = stopOnSignals(connector, { deadlineMs: task.deadlineMs, exit: false, runtime })
process.once('SIGTERM', () => tell({ kind: 'STOPPING' }))
await connector.start()
tell({ kind: 'EMPTY', footprint: footprint() })

for (const [index, topic] of task.topics.entries())
  await connector.admin.register(
    {
      name: `binding-${index}`,
      handler: 'work',
      topic,
      'group-id': `${task.groupId}-${index}`,
      retry: { tiers: [{ 'delay-ms': 1_000 }] },
    },
    applicationOperator(),
  )
await first.promise
tell({ kind: 'REGISTERED', footprint: footprint() })

const cpu = process.cpuUsage()
const at = runtime.clock.monotonic()
await runtime.timers.sleep(task.idleMs)
const { user, system } = process.cpuUsage(cpu)
const ms = runtime.clock.monotonic() - at
tell({ kind: 'IDLE', footprint: footprint(), cpuMs: (user + system) / 1_000, ms })

await last.promise
tell({ kind: 'RUNNING' })
const { isClean, stillRunning } = await stopped
tell({ kind: 'STOPPED', stillRunning })
// Waits for pending work, which nothing awaits after a second signal.
if (isClean) await kafka[Symbol.asyncDispose]()
process.disconnect()
process.exitCode = isClean ? 0 : 1
if (!isClean) process.exit()
