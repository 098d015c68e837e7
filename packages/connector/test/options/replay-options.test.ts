import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'

const handler = (): void => {}
const resolve = (given: Partial<Binding> = {}) =>
  resolveBinding('orders', { topic: 'orders', groupId: 'shipping', handler, ...given }).deadLetter
const keyed = { orderingMode: 'KEY', parallelism: 'KEY' } as const

describe('options of replays', () => {
  test('S0-044 S0-045 have the defaults of the specification', () => {
    expect(resolve()).toMatchObject({
      strategy: 'STORE_ONLY',
      recordHandler: undefined,
      replay: {
        groupId: 'shipping-dlt-replay',
        maxReplays: 3,
        cooldownMs: 3_600_000,
        batchSize: 100,
        intervalMs: 60_000,
        target: 'ORIGINAL',
      },
    })
  })

  test('C-71 with orderingMode KEY replays keep the order of their key by default', () => {
    expect(resolve(keyed).replay.target).toBe('BINDING')
    expect(resolve({ ...keyed, retry: { tiers: [] } }).replay.target).toBe('BINDING')
    expect(resolve({ ...keyed, dlt: { replay: { target: 'ORIGINAL' } } }).replay.target).toBe('ORIGINAL')
  })

  test('in a dead letter topic of several bindings each has a position of its own', () => {
    expect(resolve({ dlt: { topic: 'dead_letters' } }).replay.groupId).toBe('shipping-orders-dlt-replay')
  })

  test.each<[Partial<Binding>, string]>([
    [{ dlt: { strategy: 'CUSTOM' } }, 'dlt.recordHandler is required with strategy CUSTOM'],
    [
      { dlt: { strategy: 'SCHEDULED_REPLAY', recordHandler: { handle: () => 'KEEP' } } },
      'dlt.recordHandler is never called with strategy SCHEDULED_REPLAY: use CUSTOM',
    ],
    [
      { orderingMode: 'STRICT', dlt: { replay: { target: 'BINDING' } } },
      'dlt.replay.target is BINDING, but the binding has no tiers: use ORIGINAL',
    ],
    [
      { ...keyed, keyOrder: { onDeadKey: 'BLOCK' }, dlt: { replay: { target: 'ORIGINAL' } } },
      'dlt.replay.target is ORIGINAL: with keyOrder.onDeadKey BLOCK a copy would wait behind its own key; use BINDING',
    ],
    [{ dlt: { replay: { maxReplays: 0 } } }, 'dlt.replay.maxReplays must be'],
    [{ dlt: { replay: { batchSize: 0 } } }, 'dlt.replay.batchSize must be'],
  ])('refuse what cannot be: %o, because %s', (given, problem) => {
    expect(() => resolve(given)).toThrow(problem)
  })
})
