import { NonRetryableError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { connectorWorld } from '../support/connector-world.ts'

const plain = { topic: 'orders', groupId: 'shipping' }

describe('a clean stop', () => {
  test.each(['MANUAL', 'MANUAL_IMMEDIATE'] as const)(
    'takes no longer than what runs and its commit, with %s',
    (ackMode) =>
      connectorWorld(async ({ sim, runtime, connector, write, eventually, sleep }) => {
        sim.createTopic('orders', { partitions: 1 })
        let handled = 0
        const handler = async (): Promise<void> => {
          await sleep(50)
          handled++
        }
        const bus = connector({ bindings: { shipping: { ...plain, ackMode, handler } } })
        await bus.start()
        await write('orders', ['a', 'b', 'c', 'd'])
        await eventually(() => expect(handled).toBe(1))
        await sleep(20) // In the middle of the next one.
        const before = runtime.clock.monotonic()
        await bus.stop()
        expect(runtime.clock.monotonic() - before).toBeLessThan(1_000)
        expect(sim.group('shipping').offsets[0]?.offset).toBe(BigInt(handled))
      }),
  )

  test('L5: settles a record that fails permanently during the stop, so that it is not delivered again', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders', { partitions: 1 })
      let calls = 0
      const handler = async (): Promise<void> => {
        calls++
        await sleep(100)
        throw new NonRetryableError('never')
      }
      const bus = connector({ bindings: { shipping: { ...plain, handler } } })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(calls).toBe(1))
      await bus.stop()
      expect(sim.partition('orders.DLT', 0).highWatermark).toBe(1n)
      expect(sim.group('shipping').offsets[0]?.offset).toBe(1n)
    }))
})
