import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { encodeCommitMetadata } from '../../src/ledger/commit-metadata.ts'
import { ledgerStateAt } from '../../src/ledger/ledger.ts'
import { findStranded } from '../../src/losses/stranded-tiers.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const tier0 = { maxAttempts: 1 }
const tiers = [{ delayMs: 20_000, maxAttempts: 3 }]
const plain = { topic: 'orders', groupId: 'shipping' }

/** Returns a handler that fails once for each value that starts with b. */
function bindingOf(options: Partial<Binding> = {}): Binding {
  const seen: string[] = []
  const handler: Binding['handler'] = (record) => {
    const value = record.value?.toString() ?? ''
    seen.push(value)
    if (value.startsWith('b') && seen.filter((one) => one === value).length === 1) throw new Error('not yet')
  }
  return { ...plain, handler, retry: { tier0, tiers }, ...options }
}

function connectorOf({ connector }: ConnectorWorld, shipping: Binding): Connector {
  return connector({ bindings: { shipping } })
}

/** Runs a connector with a tier until a record is in it. */
async function withWaiting(world: ConnectorWorld): Promise<Connector> {
  world.sim.createTopic('orders')
  const bus = connectorOf(world, bindingOf())
  await bus.start()
  await world.write('orders', ['a', 'bad', 'c'])
  await world.eventually(() => {
    expect(world.sim.partition('orders.retry-1', 0).highWatermark).toBe(1n)
    expect(world.sim.group('shipping').offsets).toMatchObject([{ offset: 3n }])
  })
  return bus
}

describe('a record in a tier that the current options do not have', () => {
  test.each<[string, Partial<Binding>]>([
    ['without tiers', { retry: { tier0, tiers: [] } }],
    ['with STRICT', { orderingMode: 'STRICT', retry: { tier0 } }],
    ['with tiers of another name', { retryTopicNaming: 'PER_GROUP' }],
    ['with the order of keys', { orderingMode: 'KEY', parallelism: 'KEY' }],
  ])('is reported when the binding starts %s, until it is acknowledged', (_, options) =>
    connectorWorld(async (world) => {
      const before = await withWaiting(world)
      await before.stop()
      const bus = connectorOf(world, bindingOf(options))
      await bus.start()
      expect(bus.health()).toMatchObject({
        status: 'DEGRADED',
        reasons: [expect.stringMatching(/orders.retry-1-0: up to 1 records wait here for group shipping-retry-1/)],
      })
      expect(await bus.acknowledgeLoss('shipping', { by: 'alice' })).toMatchObject([
        { topic: 'orders.retry-1', records: 1n },
      ])
      expect(bus.health().status).toBe('UP')
    }),
  )

  test('is not reported while another instance reads it', () =>
    connectorWorld(async (world) => {
      await withWaiting(world)
      const bus = connectorOf(world, bindingOf({ retry: { tier0, tiers: [] } }))
      await bus.start()
      expect(bus.health().reasons).toEqual([])
    }))

  test('is not reported once it was handled', () =>
    connectorWorld(async (world) => {
      const before = await withWaiting(world)
      await world.eventually(() => expect(world.sim.group('shipping-retry-1').offsets).toMatchObject([{ offset: 1n }]))
      await before.stop()
      const bus = connectorOf(world, bindingOf({ retry: { tier0, tiers: [] } }))
      await bus.start()
      expect(bus.health().reasons).toEqual([])
    }))

  test('is not reported to another group, which never had a tier', () =>
    connectorWorld(async (world) => {
      const before = await withWaiting(world)
      await before.stop()
      const billing = bindingOf({ groupId: 'billing', retry: { tier0, tiers: [] } })
      const first = connectorOf(world, billing)
      await first.start()
      await world.eventually(() => expect(world.sim.group('billing').offsets).toMatchObject([{ offset: 3n }]))
      await first.stop()
      const again = connectorOf(world, billing)
      await again.start()
      expect(again.health().reasons).toEqual([])
    }))
})

test('a failed check of former tiers does not block a start', () =>
  connectorWorld(async (world) => {
    const before = await withWaiting(world)
    await before.stop()
    const bus = connectorOf(world, bindingOf({ retry: { tier0, tiers: [] } }))
    const stalled = world.sim.stall({ api: 'ListOffsets', client: 'connector' })
    await bus.start()
    stalled[Symbol.dispose]()
    expect(bus.state).toBe('RUNNING')
    expect(world.logger.lines.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^Former tiers not checked/),
    )
  }))

/** Runs a program with five records in a tier that the binding does not read. */
function withTier(program: (world: ConnectorWorld) => Promise<void>): Promise<void> {
  return connectorWorld(async (world) => {
    world.sim.createTopic('orders')
    world.sim.createTopic('orders.retry-1')
    await world.write('orders.retry-1', ['a', 'b', 'c', 'd', 'e'])
    await program(world)
  })
}

async function commitTier({ client }: ConnectorWorld, offset: bigint): Promise<void> {
  await client.admin.alterGroupOffsets('shipping-retry-1', [
    { topic: 'orders.retry-1', partition: 0, offset, metadata: '' },
  ])
}

describe('the search for records in former tiers', () => {
  const binding = resolveBinding('shipping', bindingOf({ retry: { tier0, tiers: [] } }))

  test('counts no records that were deleted before they were read', () =>
    withTier(async (world) => {
      await commitTier(world, 1n)
      world.sim.deleteRecords('orders.retry-1', 0, 3n)
      expect(await findStranded(binding, world.client.admin)).toMatchObject([{ topic: 'orders.retry-1', records: 2n }])
    }))

  test('finds none while it is not known whether the group of the tier has members', () =>
    withTier(async (world) => {
      await commitTier(world, 1n)
      const { admin } = world.client
      expect(await findStranded(binding, admin)).toMatchObject([{ records: 4n }])
      const describeGroups: typeof admin.describeGroups = async (groups, options) =>
        (await admin.describeGroups(groups, options)).map((group) =>
          group.outcome === 'DONE' ? { ...group, members: null } : group,
        )
      expect(await findStranded(binding, { ...admin, describeGroups })).toEqual([])
    }))

  test.each([
    ['more records and replays were sent to retry than have an outcome', 1n, 1],
    ['all that were sent to retry have an outcome', 0n, 0],
  ])('without a commit of the tier, believes the source that %s', (_, replaysFinished, found) =>
    withTier(async ({ client }) => {
      const source = ledgerStateAt(0n)
      const retried = { ...source, position: 1n, counts: { ...source.counts, retried: 1n } }
      const waited = { ...source, position: 1n, counts: { ...source.counts, ok: 1n } }
      const metadata = encodeCommitMetadata(retried, { ...waited, replaysFinished, waitingNow: 0n })
      await client.admin.alterGroupOffsets('shipping', [{ topic: 'orders', partition: 0, offset: 1n, metadata }])
      expect(await findStranded(binding, client.admin)).toHaveLength(found)
    }),
  )
})
