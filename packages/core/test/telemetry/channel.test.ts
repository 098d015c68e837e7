import diagnosticsChannel from 'node:diagnostics_channel'
import { onEngineEvent } from '@waybill/core'
import { engineChannel } from '@waybill/core/internal'
import { afterEach, expect, test, vi } from 'vitest'

declare module '@waybill/core' {
  interface EngineEvents {
    'test:merged': { readonly by: string }
  }
}

const opened = { breaker: 'orders', from: 'CLOSED', to: 'OPEN' } as const
const channel = engineChannel('breaker:state-changed')
const subscriptions: Disposable[] = []

afterEach(() => {
  for (const subscription of subscriptions.splice(0)) subscription[Symbol.dispose]()
  vi.restoreAllMocks()
})

test('hands an event to every subscriber, before publish returns', () => {
  const seen: string[] = []
  subscriptions.push(
    onEngineEvent('breaker:state-changed', ({ breaker, to }) => seen.push(`one ${breaker} ${to}`)),
    onEngineEvent('breaker:state-changed', ({ breaker, to }) => seen.push(`two ${breaker} ${to}`)),
  )
  channel.publish(opened)
  expect(seen).toEqual(['one orders OPEN', 'two orders OPEN'])
})

test('reports whether it has subscribers, so that a payload need not be built', () => {
  expect(channel.hasSubscribers).toBe(false)
  const subscription = onEngineEvent('breaker:state-changed', () => {})
  expect(channel.hasSubscribers).toBe(true)
  expect(engineChannel('service:state-changed').hasSubscribers).toBe(false)
  subscription[Symbol.dispose]()
  expect(channel.hasSubscribers).toBe(false)
})

test('without subscribers does nothing', () => {
  expect(() => channel.publish(opened)).not.toThrow()
})

test('hands nothing on once disposed, and disposing twice is harmless', () => {
  const seen: object[] = []
  const subscription = onEngineEvent('breaker:state-changed', (event) => seen.push(event))
  subscription[Symbol.dispose]()
  subscription[Symbol.dispose]()
  channel.publish(opened)
  expect(seen).toEqual([])
})

test('is Node’s own channel under a name an agent can find', () => {
  const seen: unknown[] = []
  const subscriber = (event: unknown): void => void seen.push(event)
  diagnosticsChannel.subscribe('waybill:breaker:state-changed', subscriber)
  channel.publish(opened)
  diagnosticsChannel.unsubscribe('waybill:breaker:state-changed', subscriber)
  expect(seen).toEqual([opened])
})

test.each([
  [
    'throws',
    () => {
      throw new Error('dashboard gone')
    },
  ],
  ['rejects', () => Promise.reject(new Error('dashboard gone'))],
] as const)('a subscriber that %s disturbs neither the engine nor the next subscriber', async (_, subscriber) => {
  const failures: unknown[] = []
  const seen: object[] = []
  subscriptions.push(
    onEngineEvent('breaker:state-changed', subscriber as () => void, (failure) => failures.push(failure)),
    onEngineEvent('breaker:state-changed', (event) => seen.push(event)),
  )
  channel.publish(opened)
  await Promise.resolve()
  expect(seen).toEqual([opened])
  expect(failures).toEqual([new Error('dashboard gone')])
})

test('a subscriber that fails and takes no report becomes one process warning', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  subscriptions.push(
    onEngineEvent('breaker:state-changed', () => {
      throw new Error('dashboard gone')
    }),
  )
  channel.publish(opened)
  channel.publish(opened)
  expect(warn).toHaveBeenCalledTimes(1)
  expect(warn).toHaveBeenCalledWith(
    'A subscriber of breaker:state-changed failed: Error: dashboard gone',
    expect.objectContaining({ code: 'WAYBILL_SUBSCRIBER_FAILED' }),
  )
})

test('another package adds its events by declaration merging', () => {
  const seen: string[] = []
  subscriptions.push(onEngineEvent('test:merged', ({ by }) => seen.push(by)))
  engineChannel('test:merged').publish({ by: 'a test' })
  expect(seen).toEqual(['a test'])
})

test('payloads and names are checked by their types', () => {
  // @ts-expect-error: no such event
  engineChannel('breaker:opened')
  // @ts-expect-error: not a state of a breaker
  channel.publish({ breaker: 'orders', from: 'CLOSED', to: 'AJAR' })
  // @ts-expect-error: the payload has no such field
  subscriptions.push(onEngineEvent('service:state-changed', ({ breaker }) => breaker))
  expect(channel.hasSubscribers).toBe(false)
})
