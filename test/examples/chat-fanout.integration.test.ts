import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createMemoryMetrics } from '@waybill/core'
import { deliveryCounter, fanoutMetrics } from '@waybill/example-chat-fanout/metrics'
import { assessObjectives, type Measured } from '@waybill/example-chat-fanout/objectives'
import { chatTopics, chatTopology } from '@waybill/example-chat-fanout/topology'
import { describe, expect, test } from 'vitest'

const example = join(import.meta.dirname, '../../examples/chat-fanout')
const flags = ['--disable-warning=ExperimentalWarning', '--conditions=@waybill/source']

const fanoutNames = [
  'fanout_events_consumed_total',
  'fanout_events_processed_total',
  'fanout_delivery_total',
  'fanout_delivery_latency_seconds',
  'fanout_consumer_lag',
  'fanout_batch_size',
  'fanout_dlq_events_total',
]

test('S2-030 S2-068 S2-082 chat clients end with every message in order, though deliveries are skipped and a worker is gone', {
  timeout: 120_000,
}, async () => {
  const readme = await readFile(join(example, 'README.md'), 'utf8')
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, join(example, 'src/main.ts')])
  expect(stdout).toBe(/^```text\n(.*?)^```/ms.exec(readme)?.[1])
})

test('S2-005 the topics of the chat keep events for a time and for a size, and the database has the history', async () => {
  const topology = chatTopology(chatTopics())
  const limits = topology.topics.map(({ name, configs }) => [
    name,
    configs.get('retention.ms'),
    configs.get('retention.bytes'),
  ])
  const [week, month] = [604_800_000, 2_592_000_000].map(String)
  expect(limits).toEqual([
    ['messages.persisted', week, '107374182400'],
    ['memberships.changed', week, '10737418240'],
    ['chats.created', week, '10737418240'],
    ['dead_letters', month, '53687091200'],
  ])
  // A client that connects when the log is gone is step 7 of the example.
})

test('S2-022 no topic of the chat sets a compression: batches stay as the producer wrote them', () => {
  for (const { configs } of chatTopology(chatTopics()).topics) expect(configs.has('compression.type')).toBe(false)
})

describe('the metrics of the fan-out', () => {
  test('S2-080 have the names of the service, without chats, users or messages as labels', () => {
    const metrics = createMemoryMetrics()
    const measured = fanoutMetrics(metrics)
    const binding = { binding: 'fanout', cluster: 'default' }
    measured.histogram('eventbus.batch.size', binding, 3)
    measured.counter('eventbus.records.processed', { ...binding, topic: 'messages.persisted', partition: 4 }, 1)
    measured.counter('eventbus.records.skipped', { ...binding, topic: 'messages.persisted', cause: 'BEST_EFFORT' }, 1)
    measured.counter('eventbus.records.dlq', { ...binding, topic: 'messages.persisted', reason: 'NON_RETRYABLE' }, 1)
    measured.gauge('eventbus.consumer.lag', { ...binding, partition: 4 }, 17)
    const count = deliveryCounter(metrics)
    count('delivered', 0.25)
    count('unreachable', null)
    expect(metrics.total('fanout_events_consumed_total')).toBe(3)
    expect(metrics.total('fanout_events_processed_total')).toBe(2)
    expect(metrics.total('fanout_delivery_total')).toBe(2)
    expect(metrics.distribution('fanout_delivery_latency_seconds').values).toEqual([0.25])
    expect(metrics.latest('fanout_consumer_lag')).toBe(17)
    expect(metrics.distribution('fanout_batch_size').values).toEqual([3])
    expect(metrics.total('fanout_dlq_events_total')).toBe(1)
    const labels = fanoutNames.flatMap((name) => metrics.series(name).flatMap((series) => Object.keys(series)))
    expect([...new Set(labels)].toSorted()).toEqual(['outcome', 'partition', 'skipped', 'topic'])
    // Those of the engine stay.
    expect(metrics.total('eventbus.records.processed')).toBe(1)
  })
})

describe('S2-081 the objectives of the chat', () => {
  const met: Measured = {
    accepted: 100_000,
    missing: 0,
    requests: 1_000,
    refused: 0,
    ackMs: Array.from({ length: 100 }, (_, n) => (n < 99 ? 499 : 9_000)),
    deliveryMs: Array.from({ length: 100 }, (_, n) => (n < 99 ? 1_999 : 9_000)),
    consumed: 1_000,
    processed: 1_000,
  }
  const missed = (fields: Partial<Measured>): string[] =>
    assessObjectives({ ...met, ...fields })
      .filter(({ isMet }) => !isMet)
      .map(({ name }) => name)

  test('are met at their limits, and missed behind them', () => {
    expect(missed({})).toEqual([])
    expect(missed({ missing: 1, refused: 1, processed: 999 })).toEqual([])
    expect(missed({ missing: 2 })).toEqual(['durability'])
    expect(missed({ refused: 2 })).toEqual(['availability'])
    expect(missed({ processed: 998 })).toEqual(['fan-out processing'])
    expect(missed({ ackMs: [500] })).toEqual(['send acknowledgement P99, ms'])
    expect(missed({ deliveryMs: [2_000] })).toEqual(['delivery P99, ms'])
    expect(missed({ accepted: 0, requests: 0, ackMs: [], deliveryMs: [], consumed: 0, processed: 0 })).toEqual([])
  })
})
