/** Replays dead letters in a process of its own, and kills itself in the middle of it on demand. */

import { type Binding, createConnector } from '@waybill/connector'
import { applicationOperator, noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'

/** The task of the process. */
export interface ReplayTask {
  readonly brokers: readonly string[]
  readonly binding: Omit<Binding, 'handler'>
  readonly count: number
  /** Kills itself at that failpoint, when it reaches it that often. */
  readonly killAt?: { readonly point: string; readonly times: number }
}

/** Its messages. */
export interface ReplayMessage {
  readonly kind: 'REPLAYED'
  readonly replayed: number
  readonly skipped: Readonly<Record<string, number>>
  readonly remaining: string
}

const task = JSON.parse(process.argv[2] ?? '') as ReplayTask
let times = 0

const failpoint = (name: string): void | Promise<void> => {
  const { killAt } = task
  if (name !== killAt?.point || ++times < killAt.times) return undefined
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

const kafka = createKafkaClient({ brokers: task.brokers })
// Never started: a replay needs no membership in the handlers' group.
const connector = createConnector({
  clusters: { default: kafka },
  bindings: { work: { ...task.binding, handler: () => {} } },
  runtime: runtimeWith({ failpoint, logger: noopLogger }),
})
const report = await connector.admin.replayDlt('work', { count: task.count }, applicationOperator())
const message: ReplayMessage = { kind: 'REPLAYED', ...report, remaining: String(report.remaining) }
process.send?.(message)
await connector.stop()
await kafka.close()
process.disconnect()
