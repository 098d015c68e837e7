import type { ContainerState } from '@waybill/connector'
import { createVirtualRuntime } from '@waybill/sim'
import { containerStateAssertions, testHandlers } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'

describe('assertions about the state of a binding', () => {
  test('hold for what it is now', () => {
    const states = containerStateAssertions({ getState: () => 'RUNNING' })
    states.is('orders', 'RUNNING')
    expect(() => states.is('orders', 'PAUSED')).toThrow("Binding 'orders' is RUNNING, not PAUSED.")
  })

  test('wait for what it becomes', async () => {
    const runtime = createVirtualRuntime(1)
    let state: ContainerState = 'RUNNING'
    runtime.timers.schedule(3_000, () => {
      state = 'PAUSED'
    })
    const states = containerStateAssertions({ getState: () => state }, { runtime })
    await runtime.run(() => states.reaches('orders', 'PAUSED'))
    expect(runtime.clock.monotonic()).toBeGreaterThanOrEqual(3_000)
    await expect(runtime.run(() => states.reaches('orders', 'STOPPED'))).rejects.toThrow("'orders' is PAUSED")
  })

  test('fail at once for a binding that there is not, and name those that there are', () =>
    testHandlers(
      async ({ connector, recordingHandler, states, runtime }) => {
        const shop = connector({ bindings: { ship: { topic: 'orders', groupId: 's', handler: recordingHandler() } } })
        const before = runtime.clock.monotonic()
        await expect(states(shop).reaches('shop', 'RUNNING')).rejects.toThrow(
          "There is no binding 'shop'. Registered bindings: default:ship.",
        )
        expect(runtime.clock.monotonic()).toBe(before)
      },
      { topics: { orders: 1 } },
    ))
})
