/** Delivers large events with a slow listener, in a process with a small heap, and measures its memory. */

import { type ListenerRegistry, type Runtime, runtimeWith } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import { Outbox } from '@waybill/outbox'
import { createOutboxStore } from '@waybill/sql'
import type { LargeEventsMessage, LargeEventsTask } from './large-events-task.ts'
import { openDatabase } from './open-database.ts'
import { guaranteeEvents } from './outbox-task.ts'

const task = JSON.parse(process.argv[2] ?? '') as LargeEventsTask
const onOrphaned = (): never => process.exit(1)
process.once('disconnect', onOrphaned)

const delivered = new Set<string>()
const complete = Promise.withResolvers<void>()
const filled = Promise.withResolvers<void>()
let deliveries = 0
let mostBuffered = 0
let mostHeap = 0
let mostResident = 0

const runtime: Runtime = runtimeWith({
  metrics: {
    counter: () => {},
    gauge: (name, _labels, value) => {
      if (name === 'outbox.buffered.bytes') mostBuffered = Math.max(mostBuffered, value)
      if (mostBuffered > task.fillBytes) filled.resolve()
    },
    histogram: () => {},
  },
})

const listeners: ListenerRegistry = {
  listenerFor: () => async (event) => {
    await filled.promise
    await systemTimers.sleep(task.handleMs)
    deliveries++
    delivered.add(event.eventId)
    if (delivered.size === task.events + task.written) complete.resolve()
  },
}

await using open = openDatabase(task.database)
const { database } = open
const shared = {
  events: guaranteeEvents('nowhere'),
  database,
  store: createOutboxStore(database, { table: task.table }),
  listeners,
  runtime,
  maxBufferedBytes: task.maxBufferedBytes,
}
const outboxes = {
  singleNode: () => Outbox.singleNode(shared),
  multiNode: () => Outbox.multiNode({ ...shared, claimLocking: { timeoutMs: 30_000 } }),
  ordered: () => Outbox.ordered(shared),
  keyed: () => Outbox.keyed(shared),
  leasing: () => Outbox.leasing(shared),
}
const outbox = outboxes[task.mode]()

const sampling = setInterval(() => {
  const { heapUsed, rss } = process.memoryUsage()
  mostHeap = Math.max(mostHeap, heapUsed)
  mostResident = Math.max(mostResident, rss)
}, 10)

await outbox.start()
for (let written = 0; written < task.written; written += 10)
  await database.transaction(async (tx) => {
    for (let n = written; n < Math.min(written + 10, task.written); n++)
      await outbox.write(tx, 'value.noted', { value: 'x'.repeat(task.eventBytes), key: `written-${n % 7}` })
  })
await complete.promise
await outbox.stop()
clearInterval(sampling)
const message: LargeEventsMessage = {
  kind: 'DELIVERED',
  deliveries,
  distinct: delivered.size,
  mostBuffered,
  mostHeap,
  mostResident,
}
process.send?.(message)
process.off('disconnect', onOrphaned)
process.disconnect()
