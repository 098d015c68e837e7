/** The figures that operators need while something fails: breakers, tiers, keys, and the course of a failure. */

import type { Binding } from '@waybill/connector'
import { NonRetryableError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { sparksOf } from '../../src/dead-letters/group-sparks.ts'
import { type AdminWorld, adminWorld } from '../support/admin-world.ts'
import { buryLetters } from '../triage/bury-letters.ts'

const hourMs = 3_600_000

function failing(): never {
  throw new Error('the carrier does not answer')
}

/** Runs a program beside a binding `shipping` with these options. */
function withBinding(options: Partial<Binding>, program: (world: AdminWorld) => Promise<void>): Promise<void> {
  const shipping = { topic: 'orders', groupId: 'shipping', handler: failing, ...options }
  return adminWorld({ connector: { bindings: { shipping } } }, program)
}

describe('a binding that fails', () => {
  test('shows what its breaker has counted, and when it tries again', () =>
    withBinding(
      {
        retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 60_000 }] },
        circuitBreaker: {
          enabled: true,
          slidingWindowSize: 2,
          minimumNumberOfCalls: 2,
          waitDurationInOpenStateMs: 40_000,
        },
      },
      async ({ ask, connector, eventually, runtime, write }) => {
        const closed = (await ask('GET', '/eventbus/bindings/shipping')).body.breaker
        expect(closed).toEqual({ state: 'CLOSED', failureRate: null, slowRate: null, calls: null, nextProbeAt: null })
        await connector.start()
        await write('orders', ['a', 'b', 'c', 'd'])
        await eventually(async () => {
          await runtime.timers.sleep(500)
          const { body } = await ask('GET', '/eventbus/bindings/shipping')
          expect(body.breaker).toMatchObject({ state: 'OPEN', failureRate: 1, slowRate: 0, calls: 2 })
          const inMs = Date.parse(body.breaker.nextProbeAt) - runtime.clock.now()
          expect(inMs).toBeGreaterThan(30_000)
          expect(inMs).toBeLessThanOrEqual(40_500)
        })
        expect((await ask('GET', '/eventbus/bindings')).body.items[0].breaker.calls).toBe(2)
      },
    ))

  test('shows when the oldest record of each tier is due', () =>
    withBinding(
      { retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 60_000, maxAttempts: 1 }, { delayMs: 600_000 }] } },
      async ({ ask, connector, eventually, runtime, write }) => {
        await connector.start()
        const dues = async (): Promise<readonly (number | null)[]> => {
          const { body } = await ask('GET', '/eventbus/bindings/shipping/pipeline')
          return body.stages.map(({ nextDueAt }: { readonly nextDueAt: string | null }) =>
            nextDueAt === null ? null : Date.parse(nextDueAt) - runtime.clock.now(),
          )
        }
        expect(await dues()).toEqual([null, null, null, null])
        await write('orders', ['a'])
        await eventually(async () => {
          await runtime.timers.sleep(500)
          const [, first] = await dues()
          expect(first).toBeGreaterThan(50_000)
          expect(first).toBeLessThanOrEqual(60_000)
        })
        await runtime.timers.sleep(70_000)
        await eventually(async () => {
          await runtime.timers.sleep(500)
          const [source, first, second] = await dues()
          expect([source, first]).toEqual([null, null])
          expect(second).toBeGreaterThan(500_000)
        })
      },
    ))
})

test('a dead letter shows whether its key is blocked, and how many records wait behind it', () =>
  withBinding(
    {
      orderingMode: 'KEY',
      parallelism: 'KEY',
      keyOrder: { onDeadKey: 'BLOCK' },
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] },
      handler: () => {
        throw new NonRetryableError('the address is wrong')
      },
    },
    async (world) => {
      const { ask, eventually, runtime, write } = world
      const [id = ''] = await buryLetters(world, ['a'])
      const url = `/eventbus/dead-letters/${id}`
      expect((await ask('GET', url)).body.keyState).toEqual({ state: 'BLOCKED', waiting: 0 })
      await write('orders', ['a', 'a'])
      await eventually(async () => {
        await runtime.timers.sleep(500)
        expect((await ask('GET', url)).body.keyState).toEqual({ state: 'BLOCKED', waiting: 2 })
      })
      const release = { type: 'RELEASE', binding: 'shipping', ids: [id], reason: 'INC-1' }
      expect(await ask('POST', '/eventbus/operations', { body: release })).toMatchObject({ status: 202 })
      await eventually(async () => {
        await runtime.timers.sleep(500)
        // The next record of the key fails, too, and blocks it in its turn.
        expect((await ask('GET', url)).body.keyState).toEqual({ state: 'BLOCKED', waiting: 1 })
      })
    },
  ))

test('a dead letter of a binding without the order of keys has no state of its key', () =>
  adminWorld({}, async (world) => {
    const [id = ''] = await buryLetters(world, ['a'])
    expect((await world.ask('GET', `/eventbus/dead-letters/${id}`)).body.keyState).toBeNull()
  }))

test('a failure group shows its dead letters by hour, the present one last', () =>
  adminWorld({}, async (world) => {
    const { ask, runtime } = world
    await buryLetters(world, ['a1', 'a2', 'b1'])
    const { items } = (await ask('GET', '/eventbus/dead-letters/groups')).body
    const [{ group, spark, count }] = items
    expect(spark.counts).toEqual([...zeros(23), Number(count)])
    expect(spark).toMatchObject({ bucketMs: 3_600_000, since: sinceOf(runtime.clock.now()) })
    expect((await ask('GET', `/eventbus/dead-letters/groups/${group}`)).body.spark).toEqual(spark)
  }))

test('the hours of failure groups are those of the last day, for the bindings of the reader', async () => {
  const asked: unknown[] = []
  const now = 490_000 * hourMs + 1_000
  const groupHours = async (...given: readonly unknown[]) => {
    asked.push(given)
    // A clock of another process may be ahead.
    return [
      { group: 'a', hour: 490_000 - 23, count: 2n },
      { group: 'a', hour: 490_001, count: 9n },
    ]
  }
  const sparkOf = await sparksOf({ groupHours }, { binding: 'mail', bindings: undefined }, ['a', 'b'], now)
  expect(asked).toEqual([[{ bindings: ['mail'] }, ['a', 'b'], 490_000 - 23]])
  expect(sparkOf?.('a').counts).toEqual([2, ...zeros(23)])
  expect(sparkOf?.('b').counts).toEqual(zeros(24))
  expect(await sparksOf({}, {}, ['a'], now)).toBeUndefined()
})

function zeros(count: number): readonly number[] {
  return Array.from({ length: count }, () => 0)
}

function sinceOf(nowMs: number): string {
  return new Date((Math.floor(nowMs / hourMs) - 23) * hourMs).toISOString()
}
