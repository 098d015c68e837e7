/** A worker in a process of its own, on real services. Any message makes it report its numbers; SIGTERM stops it. */

import { createKafkaClient } from '@waybill/kafka'
import { fromPg } from '@waybill/sql'
import { Pool } from 'pg'
import { ChatStore } from '../chat/chat-store.ts'
import { RedisPresence } from '../presence/redis-presence.ts'
import { startWorker } from './worker.ts'
import type { WorkerMessage, WorkerTask } from './worker-task.ts'

const task = JSON.parse(process.argv[2] ?? '') as WorkerTask
const kafka = createKafkaClient({ brokers: task.kafka.split(',') })
const pool = new Pool({ connectionString: task.postgres, options: `-c search_path=${task.schema}` })
pool.on('error', () => {})
const presence = await RedisPresence.connect(task.redis, task.prefix)
const worker = await startWorker({ ...task, kafka, presence, store: new ChatStore(fromPg(pool)) })

process.on('message', () => report({ kind: 'counts', ...worker.counts() }))
process.once('SIGTERM', () => void stop())
process.once('disconnect', () => void stop())
report({ kind: 'listening', url: worker.url })

async function stop(): Promise<void> {
  await worker.stop()
  await kafka.close()
  await presence[Symbol.asyncDispose]()
  await pool.end()
  process.exit(0)
}

function report(message: WorkerMessage): void {
  process.send?.(message, () => {}) // Without its parent it stops.
}
