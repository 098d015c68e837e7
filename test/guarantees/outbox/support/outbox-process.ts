/**
 * An outbox in a process of its own: writes transactions, delivers, and records its steps. It kills itself at a given
 * failpoint, and exits after SIGTERM: an open timer or connection would prevent that.
 */

import { type ListenerRegistry, NonRetryableError, type Runtime, runtimeWith } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import { createKafkaClient, type KafkaClient, publishEvents } from '@waybill/kafka'
import { exponentialRetry, Outbox } from '@waybill/outbox'
import { createOutboxStore } from '@waybill/sql'
import { openJournal } from '../../support/journal-file.ts'
import { Book } from './book.ts'
import type { DeliveryLine, DeliveryStep } from './delivery-journal.ts'
import { openDatabase } from './open-database.ts'
import { deadlineCode, guaranteeEvents, type OutboxMessage, type OutboxTask } from './outbox-task.ts'
import { writeTransactions } from './transaction-writer.ts'

/** Number of failing attempts for a value that begins with LATER. */
const failuresOfLater = 2

const task = JSON.parse(process.argv[2] ?? '') as OutboxTask
const tell = (message: OutboxMessage): void => void (process.connected && process.send?.(message))
const note: (line: DeliveryLine) => void = openJournal(task.journal)
const counters: Record<string, number> = {}
let handled = 0

const onOrphaned = (): never => process.exit(1)
process.once('disconnect', onOrphaned)

const failpoint = (name: string): void | Promise<void> => {
  const { killAt } = task
  if (name !== killAt?.point || handled < killAt.handled) return undefined
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

const runtime: Runtime = runtimeWith({
  failpoint,
  metrics: {
    counter: (name, _labels, value) => {
      counters[name] = (counters[name] ?? 0) + value
    },
    gauge: () => {},
    histogram: () => {},
  },
})

function endOf(value: string, attempt: number): DeliveryStep {
  if (value.startsWith('DEAD')) return 'DEAD'
  return value.startsWith('LATER') && attempt <= failuresOfLater ? 'FAIL' : 'OK'
}

/** Records each delivery; a successful one is also published, when there is a broker. */
function notingListeners(published: ListenerRegistry | undefined): ListenerRegistry {
  return {
    listenerFor: (aggregateType, eventType) => async (event, context) => {
      // Attempts of an event that blocks all others are counted in memory: the next process starts anew.
      const attempt = task.mode === 'ordered' ? 1 : context.attempt
      const { value, key } = JSON.parse(event.payloadJson) as { value: string; key: string }
      note({ pid: process.pid, step: 'START', value, key, attempt })
      if (value === task.stuckAt) await systemTimers.sleep(600_000, context.signal)
      if (task.handleMs > 0) await systemTimers.sleep(task.handleMs)
      const step = endOf(value, context.attempt)
      if (step === 'OK') await published?.listenerFor(aggregateType, eventType)?.(event, context)
      note({ pid: process.pid, step, value, key, attempt })
      handled++
      if (step === 'DEAD') throw new NonRetryableError(value)
      if (step !== 'FAIL') return undefined
      // This mode tries each event once, but lets a listener ask for more time.
      if (task.mode === 'ordered') return { retryAfterMs: 20 }
      throw new Error(value)
    },
  }
}

async function run(kafka: KafkaClient | undefined): Promise<void> {
  await using open = openDatabase(task.database)
  const { database } = open
  const events = guaranteeEvents(task.kafka?.topic ?? 'nowhere')
  const plain = {
    events,
    database,
    store: createOutboxStore(database, { table: task.table }),
    listeners: notingListeners(kafka === undefined ? undefined : publishEvents(kafka, events)),
    whenDone: task.whenDone,
    intervalMs: 100,
    purge: false,
    runtime,
  } as const
  const retrying = {
    ...plain,
    hook: { afterCommit: () => void failpoint('enqueue.after') },
    retry: exponentialRetry({ baseDelayMs: 20 }),
  }
  const options = { ...retrying, workerCount: 8 }
  const claimLocking = { timeoutMs: task.leaseMs }
  const create = {
    singleNode: () => Outbox.singleNode(options),
    multiNode: () => Outbox.multiNode({ ...options, claimLocking }),
    keyed: () => Outbox.keyed({ ...options, claimLocking }),
    leasing: () => Outbox.leasing({ ...retrying, claimLocking, maxInFlight: 8 }),
    ordered: () => Outbox.ordered(plain),
  }
  const outbox = create[task.mode]()
  await outbox.start()
  tell({ kind: 'RUNNING' })
  const asked = new AbortController()
  process.once('SIGTERM', () => asked.abort())
  const book = new Book(open, task.table)
  await writeTransactions({ database, outbox, book, writing: task.writing, note, failpoint, signal: asked.signal })
  tell({ kind: 'WRITTEN' })
  if (!asked.signal.aborted)
    await new Promise((resolve) => asked.signal.addEventListener('abort', resolve, { once: true }))
  const { stopDeadlineMs } = task
  if (stopDeadlineMs === undefined) return await outbox.stop()
  // The application ends the process when its deadline has passed, whatever is unfinished.
  await outbox.stop({ deadlineMs: stopDeadlineMs }).catch(() => process.exit(deadlineCode))
}

const kafka = task.kafka === undefined ? undefined : createKafkaClient({ brokers: task.kafka.brokers })
await run(kafka)
await kafka?.[Symbol.asyncDispose]()
tell({ kind: 'STOPPED', counters })
process.off('disconnect', onOrphaned)
process.disconnect()
