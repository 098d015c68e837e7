import type { Inbox } from '@waybill/core'
import { testHandlers } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'
import { orderCreatedBinding } from '../src/infrastructure/kafka/order-created-consumer.ts'
import { orderEvents } from '../src/infrastructure/kafka/order-events.ts'
import type { UpdateStamp } from '../src/region/update-order.ts'

const topic = 'orders.events'
const binding = 'orderCreated'
const order = 'o-1'

/** Runs the consumer on a simulated cluster, in virtual time. */
function consuming(record: (stamp: UpdateStamp) => void, isActive: () => boolean = () => true) {
  const attempts: UpdateStamp[] = []
  const marks = new Set<string>()
  const inbox: Inbox<undefined> = {
    async run(_, key, effect) {
      if (marks.has(key)) return 'DUPLICATE'
      await effect(undefined)
      marks.add(key)
      return 'DONE'
    },
  }
  const created = orderCreatedBinding({
    events: orderEvents(topic),
    inbox,
    groupId: 'orders.eu-1',
    allowsWrites: isActive,
    observe: (stamp) => attempts.push(stamp),
    record: async (_, __, stamp) => record(stamp),
  })
  return { created, attempts, marks }
}

function event(id: string) {
  return {
    key: order,
    value: JSON.stringify({ orderId: order, region: 'eu-1', version: 0 }),
    headers: { id, eventType: 'ORDER_CREATED', eventVersion: '2', occurredAt: '2026-01-01T00:00:00.000Z' },
  }
}

describe('the consumer of created orders', () => {
  test('S4-041 S4-042 tries a transient failure five times over retry topics, and never waits in the handler', async () => {
    const { created, attempts, marks } = consuming(() => {
      throw new Error('The database is busy.')
    })
    await testHandlers(
      async ({ connector, write, waitUntilSettled, deadLetters }) => {
        const running = connector({ bindings: { [binding]: created } })
        await running.start()
        await write(topic, [event('e-1')])
        await waitUntilSettled(running)
        await using letters = deadLetters(`${topic}.DLT`)
        await letters.hasCount(1)
      },
      { topics: { [topic]: 1 } },
    )
    expect(attempts).toHaveLength(5)
    expect(marks.size).toBe(0)
  })

  test('S4-041 has its effect once when the failure passes', async () => {
    let failures = 2
    const { created, attempts, marks } = consuming(() => {
      if (failures-- > 0) throw new Error('The database is busy.')
    })
    await testHandlers(
      async ({ connector, write, waitUntilSettled }) => {
        const running = connector({ bindings: { [binding]: created } })
        await running.start()
        await write(topic, [event('e-1'), event('e-1')])
        await waitUntilSettled(running)
      },
      { topics: { [topic]: 1 } },
    )
    expect(marks.size).toBe(1)
    expect(attempts.length).toBeLessThanOrEqual(4)
  })

  test('C-58 marks nothing while the region is passive', async () => {
    let isActive = false
    const { created, attempts, marks } = consuming(
      () => {},
      () => isActive,
    )
    await testHandlers(
      async ({ connector, write, waitUntilSettled, eventually, metrics }) => {
        const running = connector({ bindings: { [binding]: created } })
        await running.start()
        await write(topic, [event('e-1')])
        await eventually(() => expect(metrics.total('eventbus.records.failed')).toBeGreaterThan(0))
        expect([attempts.length, marks.size]).toEqual([0, 0])
        isActive = true
        await waitUntilSettled(running)
        expect([attempts.length, marks.size]).toEqual([1, 1])
      },
      { topics: { [topic]: 1 } },
    )
  })
})
