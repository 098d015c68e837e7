import { createMemoryLogger } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { FailureLog } from '../../src/dispatch/failure-log.ts'
import { orderEvent } from '../support/outbox-harness.ts'

test('the first failure is logged at once, and those of the next ten seconds with the one that follows', async () => {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const line = new FailureLog(runtime)
  const error = 'KafkaError: no broker answers'
  for (let n = 1; n <= 100; n++) line.failed(orderEvent(n), 1, error)
  expect(logger.lines).toMatchObject([
    {
      level: 'WARN',
      text: 'Delivery failed, retrying',
      fields: { eventId: 'event-1', failed: 1, error },
    },
  ])
  await runtime.advance(10_000)
  line.failed(orderEvent(101), 2, error)
  expect(logger.lines[1]).toMatchObject({ fields: { eventId: 'event-101', attempt: 2, failed: 100 } })
})
