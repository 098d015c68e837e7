/**
 * A connector in a process of its own. It records the steps of its handler, kills itself at a given failpoint, and
 * exits after SIGTERM: an open timer or connection would prevent that.
 */

import { type Binding, createConnector, type RecordHandler } from '@waybill/connector'
import { NonRetryableError, runtimeWith } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import { createKafkaClient } from '@waybill/kafka'
import type { JournalLine, Step } from './handled-journal.ts'
import { openJournal } from './journal-file.ts'

/** The task of the process. */
export interface ConnectorTask {
  readonly brokers: readonly string[]
  readonly binding: Omit<Binding, 'handler'>
  readonly journal: string
  /** Duration of the handler. */
  readonly handleMs: number
  /** Kills itself at that failpoint, once that many handlers have completed. */
  readonly killAt?: { readonly point: string; readonly handled: number }
}

/** Its messages. */
export type ConnectorMessage = { readonly kind: 'RUNNING' } | { readonly kind: 'HANDLED'; readonly count: number }

/** How often a value that begins with LATER fails in one process. */
const failuresOfLater = 2

const task = JSON.parse(process.argv[2] ?? '') as ConnectorTask
const tell = (message: ConnectorMessage): void => void (process.connected && process.send?.(message))
const note: (line: JournalLine) => void = openJournal(task.journal)
const failures = new Map<string, number>()
let handled = 0

const failpoint = (name: string): void | Promise<void> => {
  const { killAt } = task
  if (name !== killAt?.point || handled < killAt.handled) return undefined
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

function endOf(value: string): Step {
  if (value.startsWith('DEAD')) return 'DEAD'
  if (!value.startsWith('LATER')) return 'OK'
  const failed = failures.get(value) ?? 0
  failures.set(value, failed + 1)
  return failed < failuresOfLater ? 'FAIL' : 'OK'
}

const handler: RecordHandler = async (record, { original }) => {
  const value = String(record.value)
  const { topic, partition, offset } = record
  const line: Omit<JournalLine, 'step'> = {
    pid: process.pid,
    value,
    key: String(record.key),
    topic,
    partition,
    offset: String(offset),
    original: { partition: original.partition, offset: String(original.offset) },
  }
  note({ ...line, step: 'START' })
  if (task.handleMs > 0) await systemTimers.sleep(task.handleMs)
  const step = endOf(value)
  note({ ...line, step })
  tell({ kind: 'HANDLED', count: ++handled })
  if (step === 'DEAD') throw new NonRetryableError(value)
  if (step === 'FAIL') throw new Error(value)
}

const kafka = createKafkaClient({ brokers: task.brokers })
const connector = createConnector({
  clusters: { default: kafka },
  bindings: { work: { ...task.binding, handler } },
  runtime: runtimeWith({ failpoint }),
})
const asked = new Promise((resolve) => process.once('SIGTERM', resolve))
await connector.start()
tell({ kind: 'RUNNING' })
await asked
await connector.stop()
await kafka[Symbol.asyncDispose]()
process.disconnect()
