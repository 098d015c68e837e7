import { type ConnectorOptions, createConnector, createFleetControl, type FleetControl } from '@waybill/connector'
import { noopLogger, type Runtime } from '@waybill/core'
import { createMemorySharedLog, type SharedLog } from '@waybill/core/internal'
import { createKafkaClient } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { type AdminWorld, adminWorld } from '../support/admin-world.ts'

/** Members of the answers that these tests look into. */
interface Shown {
  readonly instance: string | null
  readonly version: string | null
  readonly alive: boolean
  readonly health: { readonly status: string; readonly reasons: readonly string[] } | null
  readonly owner: { readonly clientId: string } | null
  readonly kind: string
  readonly depth: string | null
}

function controlOf(log: SharedLog, version: string, runtime: Runtime): FleetControl {
  return createFleetControl({ log, version, runtime })
}

/** Runs a program beside another instance of the fleet, which has the binding `shipping` too. */
async function withFleet(program: (world: AdminWorld) => Promise<void>): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const shared: { log?: SharedLog } = {}
  const joined = (runtime: Runtime): Partial<ConnectorOptions> => {
    shared.log = createMemorySharedLog({ runtime })
    return { control: stack.use(controlOf(shared.log, '1.8.2', runtime)) }
  }
  await adminWorld({ isHandled: () => true, connector: joined }, async (world) => {
    const { sim, runtime, connector } = world
    const kafka = createKafkaClient({
      brokers: sim.brokers,
      transport: sim.transport('other'),
      clientId: 'other',
      runtime,
    })
    await using control = controlOf(shared.log as SharedLog, '1.8.1', { ...runtime, logger: noopLogger })
    const other = createConnector({
      clusters: { default: kafka },
      runtime: { ...runtime, logger: noopLogger },
      instance: 'shop-1',
      control,
      administration: { permits: () => true, auditLog: { write: () => {} } },
      bindings: {
        shipping: {
          topic: 'orders',
          groupId: 'shipping',
          retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] },
          handler: () => {},
        },
      },
    })
    await connector.start()
    await other.start()
    await runtime.timers.sleep(30_000)
    await program(world)
    await other.stop()
    await connector.stop()
    await kafka.close()
    await stack.disposeAsync()
  })
}

describe('a fleet', () => {
  test('shows why another instance is not well', () =>
    withFleet(async ({ ask, sim, eventually, runtime }) => {
      sim.deleteTopic('orders')
      await eventually(async () => {
        const [, other] = (await ask('GET', '/eventbus/instances')).body.items
        expect(other).toMatchObject({ instance: 'shop-1', health: { status: 'DOWN' } })
        expect(other.health.reasons.join()).toContain('shipping')
        await runtime.timers.sleep(1_000)
      })
    }))

  test('is listed with versions, and its bindings with the figures of all instances', () =>
    withFleet(async ({ ask, write, runtime }) => {
      await write('orders', ['a', 'b', 'c', 'd', 'e', 'f'])
      await runtime.timers.sleep(60_000)
      const { body } = await ask('GET', '/eventbus/instances')
      expect(body.scope).toBe('FLEET')
      expect(body.items.map(({ instance, version, alive }: Shown) => [instance, version, alive])).toEqual([
        ['shop-0', '1.8.2', true],
        ['shop-1', '1.8.1', true],
      ])
      const up = { status: 'UP', reasons: [] }
      expect(body.items.map(({ health }: Shown) => health)).toEqual([up, up])
      const shipping = await ask('GET', '/eventbus/bindings/shipping')
      expect(shipping.body).toMatchObject({
        instances: { alive: 2, running: 2, paused: 0, other: 0 },
        lag: { records: '0', seconds: 0 },
        retrying: '0',
        breaker: { state: 'CLOSED' },
      })
    }))

  test('shows the partitions that other instances read, and the depth of every stage', () =>
    withFleet(async ({ ask, write, runtime }) => {
      await write('orders', ['a', 'b', 'c', 'd', 'e', 'f'])
      await runtime.timers.sleep(30_000)
      const { body } = await ask('GET', '/eventbus/bindings/shipping/partitions')
      expect(body.scope).toBe('FLEET')
      const source = body.items.filter(({ kind }: { kind: string }) => kind === 'SOURCE')
      expect(source.map(({ partition }: { partition: number }) => partition).toSorted()).toEqual([0, 1])
      expect(source.map(({ instance, owner }: Shown) => [instance, owner?.clientId ?? null]).toSorted()).toEqual([
        [null, 'other'],
        ['shop-0', null],
      ])
      const foreign = source.find(({ instance }: { instance: string | null }) => instance === null)
      expect(foreign).toMatchObject({ lag: '0', buffered: null, running: null, watermark: null })
      expect(Number(foreign.committed)).toBe(Number(foreign.end))
      const pipeline = (await ask('GET', '/eventbus/bindings/shipping/pipeline')).body
      expect(pipeline).toMatchObject({ scope: 'FLEET', waiting: 0 })
      expect(pipeline.stages.map(({ kind, depth }: Shown) => [kind, depth])).toEqual([
        ['SOURCE', '0'],
        ['TIER', '0'],
        ['DLT', '0'],
      ])
    }))
})

test('without a client for the cluster, partitions and depths are those of this process', () =>
  adminWorld({ isHandled: () => true, admin: { clusters: {} } }, async ({ ask, connector, runtime }) => {
    await connector.start()
    await runtime.timers.sleep(10_000)
    for (const part of ['partitions', 'pipeline'])
      expect((await ask('GET', `/eventbus/bindings/shipping/${part}`)).body.scope).toBe('INSTANCE')
  }))

test('a cluster that does not answer leaves what this process knows', () =>
  adminWorld({ isHandled: () => true }, async ({ ask, connector, runtime, sim, logger }) => {
    await connector.start()
    await runtime.timers.sleep(10_000)
    sim.killBroker(1)
    const { status, body } = await ask('GET', '/eventbus/bindings/shipping/partitions')
    expect([status, body.scope]).toEqual([200, 'INSTANCE'])
    expect(body.items.length).toBeGreaterThan(0)
    expect(logger.lines.map(({ text }) => text)).toContain('Partitions of a binding not read')
  }))

test('the totals of charts include the bindings that the operator may see', () =>
  adminWorld(
    { isHandled: () => true, access: { ben: { 'bindings:read': ['mail'] } } },
    async ({ ask, connector, write, runtime }) => {
      await connector.start()
      await write('orders', ['a', 'b'])
      await write('mails', ['c'])
      await runtime.timers.sleep(30_000)
      const url = '/eventbus/series?metric=eventbus.records.processed&window=PT5M'
      expect((await ask('GET', url)).body.points.at(-1)).toMatchObject({ value: 3 })
      expect((await ask('GET', url, { by: 'ben' })).body.points.at(-1)).toMatchObject({ value: 1 })
      expect(await ask('GET', '/eventbus/series?metric=no.such', { by: 'ben' })).toMatchObject({ status: 400 })
    },
  ))
