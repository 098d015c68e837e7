/**
 * A connector with a transactional binding in a process of its own: writes two records for each, and is killed at any
 * time. It exits after SIGTERM.
 */

import { Buffer } from 'node:buffer'
import { type Binding, createConnector, type RecordHandler } from '@waybill/connector'
import { NonRetryableError, noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'

/** The task of the process. */
export interface TransformTask {
  readonly brokers: readonly string[]
  readonly binding: Omit<Binding, 'handler'>
  readonly output: string
}

/** Its messages. */
export type TransformMessage = { readonly kind: 'RUNNING' } | { readonly kind: 'HANDLED'; readonly count: number }

const task = JSON.parse(process.argv[2] ?? '') as TransformTask
const tell = (message: TransformMessage): void => void (process.connected && process.send?.(message))
let handled = 0

const handler: RecordHandler = (record, context) => {
  const value = String(record.value)
  const send = (text: string): void =>
    context.send({ topic: task.output, key: record.key, value: Buffer.from(`${value}/${text}`) })
  tell({ kind: 'HANDLED', count: ++handled })
  if (value.startsWith('DEAD') || (value.startsWith('LATER') && context.tier === 0)) {
    // Outputs of a failed call must never be visible.
    send('failed')
    throw value.startsWith('DEAD') ? new NonRetryableError(value) : new Error(value)
  }
  send('a')
  send('b')
}

const kafka = createKafkaClient({ brokers: task.brokers })
const connector = createConnector({
  clusters: { default: kafka },
  bindings: { work: { ...task.binding, handler } },
  // Failures here are intended.
  runtime: runtimeWith({ logger: noopLogger }),
})
const asked = new Promise((resolve) => process.once('SIGTERM', resolve))
await connector.start()
tell({ kind: 'RUNNING' })
await asked
await connector.stop()
await kafka[Symbol.asyncDispose]()
process.disconnect()
