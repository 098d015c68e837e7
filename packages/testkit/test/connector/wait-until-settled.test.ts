import { testHandlers, waitUntilSettled } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'

const orders = { topics: { orders: 2 } }
const binding = { topic: 'orders', groupId: 'shipping' }

describe('a connector is settled', () => {
  test('when nothing waits for another record of its key', () =>
    testHandlers(async ({ connector, failingHandler, write, journal, waitUntilSettled: everything }) => {
      const handler = failingHandler(4)
      const shipping = { ...binding, handler, orderingMode: 'KEY', parallelism: 'KEY' } as const
      const running = connector({ bindings: { shipping } })
      await running.start()
      await write(
        'orders',
        ['a', 'b', 'c'].map((value) => ({ key: 'k', value })),
      )
      const rows = await everything(running)
      expect(journal.unhandled()).toEqual([])
      expect(handler.values).toEqual(['a', 'b', 'c'])
      expect(rows.reduce((sum, { waitedOk }) => sum + waitedOk, 0n)).toBeGreaterThan(0n)
    }, orders))

  test('when it began behind what was there', () =>
    testHandlers(async ({ connector, recordingHandler, write, waitUntilSettled: everything }) => {
      await write('orders', ['before', 'before'])
      const handler = recordingHandler()
      const running = connector({ bindings: { shipping: { ...binding, handler, startFrom: 'LATEST' } } })
      await running.start()
      await everything(running)
      await write('orders', ['after', 'after'])
      await everything(running)
      expect(handler.values).toEqual(['after', 'after'])
    }, orders))

  test('in all topics that its binding reads', () =>
    testHandlers(
      async ({ connector, recordingHandler, write, waitUntilSettled: everything }) => {
        const handler = recordingHandler()
        const running = connector({ bindings: { shipping: { ...binding, topic: /^orders/, handler } } })
        await running.start()
        await write('orders.eu', ['of eu'])
        await write('orders.us', ['of us'])
        await everything(running)
        expect(new Set(handler.values)).toEqual(new Set(['of eu', 'of us']))
      },
      { topics: { 'orders.eu': 1, 'orders.us': 2 } },
    ))
})

test('what is settled is asked on the clusters of the connector', () =>
  testHandlers(async ({ connector, recordingHandler, runtime }) => {
    const running = connector({ bindings: { shipping: { ...binding, handler: recordingHandler() } } })
    await running.start()
    await expect(waitUntilSettled(running, {}, { runtime, deadlineMs: 1_000 })).rejects.toThrow(
      "Binding 'shipping' reads from cluster 'default', which was not passed. Pass waitUntilSettled() the",
    )
  }, orders))
