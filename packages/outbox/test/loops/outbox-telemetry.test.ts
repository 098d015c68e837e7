import { createMemoryLogger, createMemoryMetrics, onEngineEvent } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { createOutboxTelemetry } from '../../src/loops/outbox-telemetry.ts'

function measuring(prefix: string) {
  const logger = createMemoryLogger()
  const metrics = createMemoryMetrics()
  const runtime = createVirtualRuntime(1, { logger, metrics })
  return { logger, metrics, runtime, telemetry: createOutboxTelemetry(prefix, runtime) }
}

describe('metrics', () => {
  test.each([
    ['hotEnqueued', 'enqueue.hot'],
    ['hotDropped', 'enqueue.hot.dropped'],
    ['coldEnqueued', 'enqueue.cold'],
    ['succeeded', 'dispatch.success'],
    ['failed', 'dispatch.failure'],
    ['died', 'dispatch.dead'],
    ['fenced', 'finish.fenced'],
    ['leaseExpired', 'lease.expired'],
  ] as const)('%s counts as {prefix}.%s', (method, name) => {
    const { telemetry, metrics } = measuring('billing')
    telemetry[method](3)
    telemetry[method](0)
    expect(metrics.total(`billing.${name}`)).toBe(3)
  })

  test('depths and lag are gauges', () => {
    const { telemetry, metrics } = measuring('outbox')
    telemetry.queueDepths(4, 5)
    telemetry.oldestLag(600)
    expect(
      ['queue.hot.depth', 'queue.cold.depth', 'lag.oldest.ms'].map((name) => metrics.latest(`outbox.${name}`)),
    ).toEqual([4, 5, 600])
  })
})

test('drops are logged once a second, with their number', async () => {
  const { telemetry, logger, runtime } = measuring('outbox')
  for (let n = 0; n < 5; n++) telemetry.hotDropped(2)
  await runtime.advance(1_000)
  telemetry.hotDropped(1)
  expect(logger.lines.map(({ level, fields }) => [level, fields['dropped']])).toEqual([
    ['WARN', 2],
    ['WARN', 9],
  ])
})

test('drops and lost leases are published as engine events', () => {
  const { telemetry } = measuring('outbox')
  const told: object[] = []
  using drops = onEngineEvent('outbox:hot-dropped', (event) => void told.push(event))
  using losses = onEngineEvent('outbox:lease-lost', (event) => void told.push(event))
  telemetry.hotDropped(2)
  telemetry.fenced(3)
  telemetry.leaseExpired(0)
  drops[Symbol.dispose]()
  losses[Symbol.dispose]()
  telemetry.hotDropped(1)
  expect(told).toEqual([
    { outbox: 'outbox', events: 2 },
    { outbox: 'outbox', rows: 3 },
  ])
})
