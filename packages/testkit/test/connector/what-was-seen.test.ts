import type { Connector } from '@waybill/connector'
import { NonRetryableError } from '@waybill/core'
import { type RecordingHandler, testHandlers } from '@waybill/testkit'
import { type HandlerTest } from '@waybill/testkit/internal'
import { describe, expect, test } from 'vitest'
import { describeSight } from '../../src/connector/handler-sight.ts'

const options = { topics: { orders: 1 }, deadlineMs: 5_000 }

async function running({ connector }: HandlerTest, handler: RecordingHandler): Promise<Connector> {
  const bus = connector({ bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler } } })
  await bus.start()
  return bus
}

describe('a wait that ends in vain says what it has seen', () => {
  test('of a handler that was never called', () =>
    testHandlers(async (world) => {
      const waiting = world.recordingHandler().wait()
      await expect(waiting).rejects.toThrow(
        'Waited 5000 ms for "a record that is handled", which did not happen. The handler was never called',
      )
    }, options))

  test('of a handler that failed, with what it failed', () =>
    testHandlers(async (world) => {
      const failure = new NonRetryableError('No address.')
      const handler = world.recordingHandler({ work: () => Promise.reject(failure) })
      await running(world, handler)
      await world.write('orders', ['o-1'])
      const waiting = handler.wait()
      await expect(waiting).rejects.toThrow(
        'The handler was called once: 1 failed, the last with NonRetryableError: No address.',
      )
      await expect(waiting).rejects.toMatchObject({ cause: failure })
    }, options))

  test('of records that are not handled, with how their calls ended', () =>
    testHandlers(async (world) => {
      await running(world, world.failingHandler(Number.POSITIVE_INFINITY))
      await world.write('orders', ['o-1'])
      await expect(world.journal.allHandled()).rejects.toThrow(
        /1 of 1 records is not handled: orders-0@0 "o-1" \(failed 3 times, the last with IntendedFailureError: /,
      )
    }, options))

  test('of records that no handler reads', () =>
    testHandlers(async ({ write, journal }) => {
      await write('orders', ['o-1'])
      await expect(journal.allHandled()).rejects.toThrow('check that a handler reads them')
    }, options))

  test('of a binding that does not settle because it is paused', () =>
    testHandlers(async (world) => {
      const bus = await running(world, world.recordingHandler())
      await bus.pause('shipping')
      await world.write('orders', ['o-1'])
      await expect(world.waitUntilSettled(bus)).rejects.toThrow(
        "orders-0 of 'shipping', which is PAUSED, is settled up to 0 of 1.",
      )
    }, options))

  test('of a topic that holds nothing, with what was to be there, or that is none', () =>
    testHandlers(async (world) => {
      const wanted = world.deadLetters('orders.DLT').contains({ key: 'o-1', headers: { id: '7' } })
      await expect(wanted).rejects.toThrow("Topic 'orders.DLT' does not exist. Check its name. A connector creates")
      await running(world, world.recordingHandler())
      await expect(world.deadLetters('orders.DLT').contains({ key: 'o-1', headers: { id: '7' } })).rejects.toThrow(
        'orders.DLT has no records. Expected one with key "o-1"; header id "7".',
      )
    }, options))
})

test('a handler reports the calls that fail', () =>
  testHandlers(async (world) => {
    const failed: string[] = []
    const onFailed = ({ attempt }: { attempt: number }, error: unknown): void =>
      void failed.push(`${attempt} ${String(error)}`)
    await running(world, world.failingHandler(1, { error: new Error('away'), onFailed }))
    await world.write('orders', ['o-1'])
    await world.journal.allHandled()
    expect(failed).toEqual(['1 Error: away'])
  }, options))

test.each([
  [{ calls: 3, handled: ['a', null], failures: [] }, 'called 3 times: 2 handled ("a", null); 1 still running.'],
  [{ calls: 7, handled: 'abcdefg'.split(''), failures: [] }, '7 handled ("a", "b", "c", "d", "e", …).'],
  [{ calls: 2, handled: ['a'], failures: ['no.'] }, 'called 2 times: 1 handled ("a"); 1 failed, the last with no.'],
])('%j is described in a sentence', (sight, text) => {
  expect(describeSight(sight)).toContain(text)
})
