import { createKafkaClient } from '@waybill/kafka'
import type { BenchOptions } from '../bench-options.ts'
import { bootstrap } from '../kafka-client/contestant.ts'
import { compare } from '../statistics.ts'
import type { DrainResult } from './drain-meter.ts'
import { runParticipant } from './participant-process.ts'
import type { PostgresTables } from './postgres-tables.ts'
import type { PublishTask } from './publish-participant.ts'

const name = 'commit to acknowledgement, 64 workers'
const warm = 5_000
const count = 20_000
const ways = ['PRODUCER', 'OUTBOX'] as const

/** Measures commit to acknowledgment, beside the same records sent without an outbox. */
export async function runPublish(tables: PostgresTables, options: BenchOptions): Promise<void> {
  const { rounds, only, progress, report } = options
  if (!name.includes(only)) return
  await using client = createKafkaClient({ brokers: [bootstrap] })
  const topic = `bench-outbox-${process.pid}-${Date.now()}`
  await client.admin.createTopics([{ topic, partitions: 8, replication: 1 }])
  const rates: Record<PublishTask['way'], number[]> = { PRODUCER: [], OUTBOX: [] }
  try {
    for (let round = 1; round <= rounds; round++)
      for (const way of ways) {
        progress(`${name}: round ${round} of ${rounds}, ${way}`)
        await tables.seed('outbox_event', 0, 'PENDING')
        const task: PublishTask = { way, topic, url: tables.url, warm, count }
        rates[way].push((await runParticipant<DrainResult>('publish-participant.ts', task)).perSecond)
      }
  } finally {
    await client.admin.deleteTopics([topic])
  }
  const names = { bench: 'outbox', case: name, unit: 'events/s', reference: 'producer alone' }
  report(compare(names, rates.OUTBOX, rates.PRODUCER))
}
