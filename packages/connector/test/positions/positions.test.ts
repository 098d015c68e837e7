import { ArgumentError, onEngineEvent } from '@waybill/core'
import { PartialFailureError } from '@waybill/kafka'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { InvalidContainerStateError } from '../../src/api/connector-errors.ts'
import { PositionRefusedError } from '../../src/api/position-errors.ts'
import { type ConnectorWorld, collecting, connectorWorld } from '../support/connector-world.ts'

const alice = { by: 'alice', reason: 'poison record' }

/** Starts a binding that has handled `a`, `b` and `c`. */
async function handledThree(
  world: ConnectorWorld,
  options: Partial<Binding> = {},
): Promise<{ readonly bus: Connector; readonly values: string[] }> {
  world.sim.createTopic('orders', { partitions: 2 })
  const { handler, values } = collecting()
  const bus = world.connector({ bindings: { orders: { topic: 'orders', groupId: 'orders', handler, ...options } } })
  await bus.start()
  await world.write('orders', ['a', 'b', 'c'])
  await world.eventually(() => expect(values).toEqual(['a', 'b', 'c']))
  return { bus, values }
}

/** Returns the audit row of partition 0. */
async function auditOf(bus: Connector) {
  const rows = await bus.audit()
  return rows.find(({ topic, partition }) => topic === 'orders' && partition === 0)
}

describe('seeking', () => {
  test('a paused binding back redelivers after a resume, and its audit has the operator', () =>
    connectorWorld(async (world) => {
      const { bus, values } = await handledThree(world)
      await bus.pause('orders')
      const answer = await bus.admin.seek('orders', { to: { offset: 1n }, partitions: [0] }, alice)
      expect(answer).toMatchObject({
        scope: 'INSTANCE',
        instances: [{ outcome: 'APPLIED', state: 'PAUSED' }],
        positions: [{ topic: 'orders', partition: 0, from: 3n, to: 1n, skipped: 0n, repeated: 2n }],
      })
      await world.sleep(5_000)
      expect(values).toEqual(['a', 'b', 'c'])
      await bus.resume('orders')
      await world.eventually(() => expect(values).toEqual(['a', 'b', 'c', 'b', 'c']))
      await bus.stop('orders')
      expect(await auditOf(bus)).toMatchObject({
        since: 1n,
        committed: 3n,
        ok: 2n,
        problem: undefined,
        moved: { times: 1, from: 3n, to: 1n, by: 'alice' },
      })
      expect(bus.health().status).toBe('UP')
    }))

  test('a stopped binding forward counts the records in between as skipped, and does not deliver them', () =>
    connectorWorld(async (world) => {
      const { bus, values } = await handledThree(world)
      await bus.stop('orders')
      await world.write('orders', ['d', 'e', 'f'])
      const { positions } = await bus.admin.seek('orders', { to: { offset: 5n }, partitions: [0] }, alice)
      expect(positions).toMatchObject([{ from: 3n, to: 5n, skipped: 2n, repeated: 0n }])
      expect(bus.getState('orders')).toBe('STOPPED')
      await bus.start('orders')
      await world.eventually(() => expect(values).toEqual(['a', 'b', 'c', 'f']))
      await bus.stop('orders')
      expect(await auditOf(bus)).toMatchObject({ since: 0n, ok: 4n, skipped: 2n, problem: undefined })
    }))

  test('to a time moves to the first record at or after it, or to the end', () =>
    connectorWorld(async (world) => {
      const { bus, values } = await handledThree(world)
      await world.sleep(60_000)
      const later = world.runtime.clock.now()
      await world.write('orders', ['d', 'e'])
      await world.eventually(() => expect(values).toHaveLength(5))
      await bus.stop('orders')
      const { positions } = await bus.admin.seek('orders', { to: { timestampMs: later }, partitions: [0] }, alice)
      expect(positions).toMatchObject([{ partition: 0, from: 5n, to: 3n }])
      const end = await bus.admin.seek('orders', { to: { timestampMs: later + 60_000 }, partitions: [0] }, alice)
      expect(end.positions).toMatchObject([{ partition: 0, from: 3n, to: 5n, skipped: 2n }])
      expect(await auditOf(bus)).toMatchObject({ moved: { times: 2, from: 3n, to: 5n } })
    }))

  test('a binding that was never started sets its start offset', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      await world.write('orders', ['a', 'b', 'c'])
      const { handler, values } = collecting()
      const bus = world.connector({ bindings: { orders: { topic: 'orders', groupId: 'orders', handler } } })
      await bus.admin.seek('orders', { to: { offset: 2n }, partitions: [0] }, alice)
      await bus.start()
      await world.eventually(() => expect(values).toEqual(['c']))
    }))

  test('a tier moves that tier alone', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      let calls = 0
      const bus = world.connector({
        bindings: {
          orders: {
            topic: 'orders',
            groupId: 'orders',
            handler: () => Promise.reject(new Error(`failed ${++calls}`)),
            retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 600_000 }] },
          },
        },
      })
      await bus.start()
      await world.write('orders', ['a', 'b'])
      await world.eventually(() => expect(calls).toBe(2))
      await world.eventually(async () => expect(await auditOf(bus)).toMatchObject({ retried: 2n }))
      await bus.pause('orders')
      const { positions } = await bus.admin.seek('orders', { to: 'LATEST', tier: 1 }, alice)
      expect(positions).toMatchObject([{ topic: 'orders.retry-1', from: null, to: 2n, skipped: 2n }])
      await expect(bus.admin.seek('orders', { to: 'LATEST', tier: 2 }, alice)).rejects.toThrow(
        "Tier 2 out of range [0..1] of binding 'orders'.",
      )
    }))

  test('publishes an engine event', () =>
    connectorWorld(async (world) => {
      const { bus } = await handledThree(world)
      const seen: unknown[] = []
      const listening = onEngineEvent('position:moved', (event) => seen.push(event))
      onTestFinished(() => listening[Symbol.dispose]())
      await bus.stop('orders')
      await bus.admin.seek('orders', { to: 'EARLIEST', partitions: [0] }, alice)
      expect(seen).toEqual([
        {
          binding: 'orders',
          topic: 'orders',
          partition: 0,
          operation: 'SEEK',
          from: 3n,
          to: 0n,
          skipped: 0n,
          repeated: 3n,
          by: 'alice',
        },
      ])
    }))
})

describe('skipping a record', () => {
  test('at the head of its partition unblocks those after it', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const values: string[] = []
      const handler: Binding['handler'] = async ({ value }) => {
        if (value?.toString() === 'poison') throw new Error('cannot')
        values.push(value?.toString() ?? '')
      }
      const bus = world.connector({
        bindings: { orders: { topic: 'orders', groupId: 'orders', handler, failureProfile: 'BLOCKING_UNLIMITED' } },
      })
      await bus.start()
      await world.write('orders', ['a', 'poison', 'b'])
      await world.sleep(60_000)
      expect(values).toEqual(['a'])
      await bus.pause('orders')
      const { positions } = await bus.admin.skip('orders', { partition: 0, offsets: [1n] }, alice)
      expect(positions).toMatchObject([{ from: 1n, to: 2n, skipped: 1n }])
      await bus.resume('orders')
      await world.eventually(() => expect(values).toEqual(['a', 'b']))
      await bus.stop('orders')
      expect(await auditOf(bus)).toMatchObject({ ok: 2n, skipped: 1n, problem: undefined, moved: { by: 'alice' } })
    }))

  test('further ahead still delivers those before it', () =>
    connectorWorld(async (world) => {
      const { bus, values } = await handledThree(world)
      await bus.stop('orders')
      await world.write('orders', ['d', 'e', 'f'])
      const { positions } = await bus.admin.skip('orders', { partition: 0, offsets: [4n] }, alice)
      expect(positions).toMatchObject([{ from: 3n, to: 3n, skipped: 1n }])
      await bus.start('orders')
      await world.eventually(() => expect(values).toEqual(['a', 'b', 'c', 'd', 'f']))
      await bus.stop('orders')
      expect(await auditOf(bus)).toMatchObject({ ok: 5n, skipped: 1n, problem: undefined })
    }))
})

describe('a position is not moved', () => {
  test('while records are delivered', () =>
    connectorWorld(async (world) => {
      const { bus } = await handledThree(world)
      const seeking = bus.admin.seek('orders', { to: 'EARLIEST' }, alice)
      await expect(seeking).rejects.toThrow(InvalidContainerStateError)
      await expect(seeking).rejects.toThrow(
        "Cannot seek binding 'orders': current state is RUNNING, seek requires CREATED or PAUSED or STOPPED",
      )
    }))

  test('while another process is in the group, and the binding keeps its state', () =>
    connectorWorld(async (world) => {
      const { bus } = await handledThree(world)
      const other = world.connector({
        bindings: { orders: { topic: 'orders', groupId: 'orders', handler: async () => {} } },
        instance: 'other',
      })
      await other.start()
      await bus.pause('orders')
      await expect(bus.admin.seek('orders', { to: 'EARLIEST' }, alice)).rejects.toThrow(PartialFailureError)
      expect(bus.getState('orders')).toBe('PAUSED')
      expect(await auditOf(bus)).toMatchObject({ committed: 3n, moved: undefined })
      await other.stop()
      await expect(bus.admin.seek('orders', { to: 'EARLIEST' }, alice)).resolves.toMatchObject({ scope: 'INSTANCE' })
    }))

  test('to an offset outside of the log, in any partition', () =>
    connectorWorld(async (world) => {
      const { bus } = await handledThree(world)
      await bus.stop('orders')
      const seeking = bus.admin.seek('orders', { to: { offset: 3n }, partitions: [0, 1] }, alice)
      await expect(seeking).rejects.toThrow(PositionRefusedError)
      await expect(seeking).rejects.toThrow(/orders-1: offset 3 is not in its log \[0\.\.0\]/)
    }))

  test.each([
    [{ to: { offset: 1n } }, 'A seek to an offset needs partitions'],
    [{ to: 'LATEST', partitions: [0, 0] }, 'listed twice'],
    [{ to: 'LATEST', partitions: [7] }, 'has 2 partitions, but no partition 7'],
    [{ to: 'LATEST', topic: 'payments' }, 'does not read payments; it reads: orders'],
  ] as const)('%o', (seek, why) =>
    connectorWorld(async (world) => {
      const { bus } = await handledThree(world)
      await bus.stop('orders')
      const seeking = bus.admin.seek('orders', seek, alice)
      await expect(seeking).rejects.toThrow(ArgumentError)
      await expect(seeking).rejects.toThrow(why)
    }),
  )
})

describe('resetting', () => {
  test('restarts position and counters in all partitions', () =>
    connectorWorld(async (world) => {
      const { bus, values } = await handledThree(world)
      await world.write('orders', ['x'], 1)
      await world.eventually(() => expect(values).toHaveLength(4))
      await bus.stop('orders')
      const { positions } = await bus.admin.reset('orders', { to: 'LATEST' }, alice)
      expect(positions).toMatchObject([
        { partition: 0, from: 3n, to: 3n },
        { partition: 1, from: 1n, to: 1n },
      ])
      expect(await auditOf(bus)).toMatchObject({ since: 3n, committed: 3n, ok: 0n, moved: { by: 'alice' } })
    }))

  test('makes a group accountable again whose offsets another tool has set', () =>
    connectorWorld(async (world) => {
      const { bus } = await handledThree(world)
      await bus.stop('orders')
      await world.client.admin.alterGroupOffsets('orders', [{ topic: 'orders', partition: 0, offset: 2n }])
      await bus.admin.reset('orders', { to: 'EARLIEST' }, alice)
      expect(await auditOf(bus)).toMatchObject({ since: 0n, committed: 0n, problem: undefined })
      // The earlier outcomes stay unknown, and the finding stays until it is acknowledged.
      expect(bus.health().reasons.join()).toContain('the commit has no metadata')
      await bus.acknowledgeLoss('orders', { by: 'alice' })
      expect(bus.health().status).toBe('UP')
    }))
})

describe('a binding that keeps the order of keys', () => {
  test('is moved when no record waits', () =>
    connectorWorld(async (world) => {
      const { bus, values } = await handledThree(world, { orderingMode: 'KEY', parallelism: 'KEY' })
      await bus.pause('orders')
      const { positions } = await bus.admin.seek('orders', { to: { offset: 1n }, partitions: [0] }, alice)
      expect(positions).toMatchObject([{ from: 3n, to: 1n, repeated: 2n }])
      await bus.resume('orders')
      await world.eventually(() => expect(values).toEqual(['a', 'b', 'c', 'b', 'c']))
      await bus.stop('orders')
      expect(await auditOf(bus)).toMatchObject({ since: 1n, ok: 2n, problem: undefined, moved: { by: 'alice' } })
      expect(bus.health().status).toBe('UP')
    }))

  test('is not moved while a record waits', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const bus = world.connector({
        bindings: {
          orders: {
            topic: 'orders',
            groupId: 'orders',
            orderingMode: 'KEY',
            parallelism: 'KEY',
            handler: () => Promise.reject(new Error('not yet')),
            retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 600_000 }] },
          },
        },
      })
      await bus.start()
      await world.write('orders', ['a'], 0, () => 'key')
      await world.eventually(async () => expect(await auditOf(bus)).toMatchObject({ waiting: 1n }))
      await bus.pause('orders')
      await expect(bus.admin.seek('orders', { to: 'EARLIEST' }, alice)).rejects.toThrow(/\(1 records wait\)/)
      expect(await auditOf(bus)).toMatchObject({ committed: 1n, waiting: 1n, moved: undefined })
    }))
})
