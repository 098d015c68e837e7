import { type DeliveryContext, handleEvents } from '@waybill/connector'
import { ArgumentError, applicationOperator, defineEvents, NonRetryableError } from '@waybill/core'
import { createPublisher, type KafkaRecord } from '@waybill/kafka'
import { leakCheck, testHandlers, WaitDeadlineError } from '@waybill/testkit'
import { type HandlerCall } from '@waybill/testkit/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const orders = { topics: { orders: 3 } }
const oneTier = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 60_000, maxAttempts: 1 }] }

async function shipOrder({ value }: KafkaRecord, { logger }: DeliveryContext): Promise<void> {
  logger.info({}, 'shipping')
  if (String(value) === 'broken') throw new NonRetryableError('no address')
}

/** Returns the order of handled records with that seed. */
function history(seed: number): Promise<readonly string[]> {
  return testHandlers(
    async ({ connector, recordingHandler, write, journal, runtime }) => {
      const moments: string[] = []
      const onHandled = ({ record }: HandlerCall): void =>
        void moments.push(`${String(record.value)} at ${runtime.clock.monotonic()}`)
      const shipping = { topic: 'orders', groupId: 'shipping', handler: recordingHandler({ onHandled }) }
      await connector({ bindings: { shipping } }).start()
      await write('orders', 'abcdefghijkl'.split(''))
      await journal.allHandled()
      return moments
    },
    { ...orders, seed },
  )
}

describe.each(['VIRTUAL', 'SYSTEM'] as const)('a test of handlers in %s time', (time) => {
  test('gives a cluster, a connector and a journal that says what was written and handled', () =>
    testHandlers(
      async ({ write, connector, recordingHandler, journal }) => {
        const handler = recordingHandler()
        await connector({ bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler } } }).start()
        const [first] = await write('orders', [{ key: 'k', value: 'a' }, 'b', { value: null, partition: 2 }])
        await journal.allHandled()
        expect(new Set(handler.values)).toEqual(new Set(['a', 'b', null]))
        expect(first).toMatchObject({ topic: 'orders', offset: 0n, key: 'k', value: 'a' })
        expect([journal.written.length, journal.handled.length, journal.repeated()]).toEqual([3, 3, []])
      },
      { ...orders, time },
    ))

  test('leaves nothing behind, also when it fails', async () => {
    await leakCheck(
      async () => {
        const failing = testHandlers(
          async ({ connector, slowHandler, write }) => {
            const handler = slowHandler(3_600_000)
            await connector({ bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler } } }).start()
            await write('orders', ['a'])
            await handler.waitForCalls()
            throw new RangeError('what the test is about')
          },
          { ...orders, time, stopDeadlineMs: 200 },
        )
        await expect(failing).rejects.toThrow(new RangeError('what the test is about'))
        // A fetch without a waiting poll ends by itself, half a second after the last record.
      },
      { allow: time === 'SYSTEM' ? ['TIMER'] : [] },
    )
  })
})

describe('a test of handlers', () => {
  test('lets a failing handler climb a tier within a minute that takes no time', () =>
    testHandlers(async ({ write, connector, failingHandler, tier, deadLetters, journal, waitUntilSettled }) => {
      const handler = failingHandler(1)
      const shipping = { topic: 'orders', groupId: 'shipping', handler, retry: oneTier }
      const running = connector({ bindings: { shipping } })
      await running.start()
      await write('orders', [{ key: 'a', value: 'first', headers: { id: '7' } }])
      await tier('orders.retry-1').contains({ key: 'a', tier: 1, attempt: 1, headers: { id: '7' } })
      expect(journal.unhandled()).toMatchObject([{ value: 'first' }])
      const rows = await waitUntilSettled(running)
      expect(journal.unhandled()).toEqual([])
      expect(handler.handled).toMatchObject([{ tier: 1, original: { topic: 'orders', offset: 0n } }])
      expect(rows.reduce((sum, { ok }) => sum + ok, 0n)).toBe(1n)
      await deadLetters('orders.DLT').hasCount(0)
    }, orders))

  test('records the handler under test, with all of its context', () =>
    testHandlers(async ({ write, connector, recordingHandler, deadLetters }) => {
      const handler = recordingHandler({ work: shipOrder })
      await connector({ bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler } } }).start()
      await write('orders', ['fine', 'broken'])
      await deadLetters('orders.DLT').contains({ value: 'broken', lastExceptionMessage: 'no address' })
      await handler.wait()
      expect(handler.values).toEqual(['fine'])
    }, orders))

  test('knows when everything is settled whatever the handlers are', () =>
    testHandlers(async ({ client, runtime, connector, waitUntilSettled }) => {
      const schema = z.object({ orderId: z.string() })
      const events = defineEvents({ 'order.placed': { topic: 'orders', schema, key: ({ orderId }) => orderId } })
      const shipped: string[] = []
      const handler = handleEvents(events, {
        'order.placed': async ({ payload }) => void shipped.push(payload.orderId),
      })
      const running = connector({ bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler } } })
      await running.start()
      const publisher = createPublisher(client, events, { runtime })
      await publisher.publish('order.placed', { orderId: 'o-1' })
      await publisher.publish('order.placed', { orderId: 'o-2' })
      await waitUntilSettled(running)
      expect(shipped.toSorted()).toEqual(['o-1', 'o-2'])
    }, orders))

  test('has as many clusters as it names, each with a journal of its own', () =>
    testHandlers(
      async ({ connector, cluster, journal, waitUntilSettled, recordingHandler, write }) => {
        const eu = cluster('eu')
        eu.sim.createTopic('orders')
        const bindings = {
          here: { topic: 'orders', groupId: 'shipping', handler: recordingHandler() },
          there: { topic: 'orders', groupId: 'shipping', cluster: 'eu', handler: eu.recordingHandler() },
        }
        const running = connector({ bindings })
        await running.start()
        await eu.write('orders', ['of eu'])
        await write('orders', ['of default'])
        await waitUntilSettled(running)
        const handled = [journal, eu.journal].map((one) => one.handled.map(({ record }) => String(record.value)))
        expect(handled).toEqual([['of default'], ['of eu']])
        expect(() => cluster('us')).toThrow("This test has no cluster 'us', only default, eu.")
      },
      { ...orders, clusters: ['default', 'eu'] },
    ))

  test('reports records handled more than once, but not once by each of two groups', () =>
    testHandlers(async ({ connector, recordingHandler, write, journal, waitUntilSettled }) => {
      const [here, there] = [recordingHandler(), recordingHandler()]
      const bindings = {
        here: { topic: 'orders', groupId: 'here', handler: here, retryTopicNaming: 'PER_GROUP' },
        there: { topic: 'orders', groupId: 'there', handler: there, retryTopicNaming: 'PER_GROUP' },
      } as const
      const running = connector({ bindings })
      await running.start()
      await write('orders', [
        { value: 'a', partition: 0 },
        { value: 'b', partition: 1 },
      ])
      await waitUntilSettled(running)
      expect([journal.handled.length, journal.repeated()]).toEqual([4, []])
      await running.pause('here')
      await running.admin.seek('here', { partitions: [1], to: { offset: 0n } }, applicationOperator())
      await running.resume('here')
      await here.wait({ count: 3 })
      expect(journal.repeated()).toMatchObject([{ value: 'b' }])
    }, orders))

  test('asserts the states of bindings', () =>
    testHandlers(async ({ connector, states, recordingHandler }) => {
      const bindings = { shipping: { topic: 'orders', groupId: 'shipping', handler: recordingHandler() } }
      const running = connector({ bindings })
      states(running).is('shipping', 'CREATED')
      await running.start()
      await states(running).reaches('shipping', 'RUNNING')
    }, orders))

  test('fails when a handler does not heed its signal, and names the binding', async () => {
    const failing = testHandlers(async ({ connector, recordingHandler, write }) => {
      const handler = recordingHandler({ work: () => new Promise(() => {}) })
      await connector({ bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler } } }).start()
      await write('orders', ['a'])
      await handler.waitForCalls()
    }, orders)
    await expect(failing).rejects.toThrow(/shipping/)
  })

  test('is the same each time for a seed, and another for another seed', async () => {
    expect(await history(7)).toEqual(await history(7))
    expect(await history(7)).not.toEqual(await history(8))
  })
})

describe('a test of handlers says what is wrong', () => {
  test('when a record is not handled', () =>
    testHandlers(
      async ({ connector, failingHandler, write, journal, waitUntilSettled }) => {
        const handler = failingHandler(Number.POSITIVE_INFINITY)
        const running = connector({
          bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler, retry: oneTier } },
        })
        await running.start()
        await write('orders', 'abcdefg'.split(''))
        const waiting = journal.allHandled()
        await expect(waiting).rejects.toThrow(WaitDeadlineError)
        await expect(waiting).rejects.toThrow(/7 of 7 records are not handled: orders-\d@\d "\w".*, and 2 more\./)
        await expect(waitUntilSettled(running)).rejects.toThrow(
          /Not every record is settled: .*orders.retry-1-\d of 'shipping' is settled up to 0 of \d/,
        )
      },
      { ...orders, deadlineMs: 5_000 },
    ))

  test('when no binding settles records', () =>
    testHandlers(
      async ({ connector, recordingHandler, waitUntilSettled, states }) => {
        const running = connector({
          bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler: recordingHandler() } },
        })
        await expect(waitUntilSettled(running)).rejects.toThrow(
          "Binding 'shipping' is CREATED, so none of its records are settled. Start it first.",
        )
        await expect(states(running).reaches('shipping', 'RUNNING')).rejects.toThrow(
          "Binding 'shipping' is CREATED, not RUNNING.",
        )
      },
      { ...orders, deadlineMs: 5_000 },
    ))

  test('when there is no such topic', () =>
    testHandlers(async ({ write }) => {
      const writing = write('ordres', ['a'])
      await expect(writing).rejects.toThrow(ArgumentError)
      await expect(writing).rejects.toThrow(
        "Cannot write to topic 'ordres': it does not exist. Add it to `topics` of the test",
      )
    }, orders))

  test('when an option is misspelt', async () => {
    const wrong = { topcis: { orders: 1 } } as object
    await expect(testHandlers(async () => {}, wrong)).rejects.toThrow(/topcis.*topics/s)
  })
})
