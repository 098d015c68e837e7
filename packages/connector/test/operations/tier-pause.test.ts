import { ArgumentError, type AuditEntry, OperationForbiddenError } from '@waybill/core'
import { createKafkaClient, createTopicLog } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { InvalidContainerStateError } from '../../src/api/connector-errors.ts'
import type { Control, ControlledInstance } from '../../src/api/control.ts'
import { createFleetControl, type FleetControl } from '../../src/fleet/create-fleet-control.ts'
import { createLocalControl } from '../../src/operations/local-control.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const alice = { by: 'alice' }
const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 1 }, { delayMs: 1_000 }] }

/** A binding whose handler fails for values with a tier in them, until that tier: `a2` succeeds in tier 2. */
async function open(
  world: ConnectorWorld,
  given: Partial<Binding> = {},
): Promise<{ readonly bus: Connector; readonly handled: string[] }> {
  world.sim.createTopic('orders')
  const handled: string[] = []
  const handler: Binding['handler'] = ({ value }, { tier }) => {
    if (tier < Number(String(value).slice(1))) throw new Error('not yet')
    handled.push(`${String(value)} in ${tier}`)
  }
  const bus = world.connector({ bindings: { shipping: { topic: 'orders', groupId: 'g', handler, retry, ...given } } })
  await bus.start()
  return { bus, handled }
}

const pausedOf = (bus: Connector): unknown =>
  bus.admin.binding('shipping').containers.map(({ place, pausedBy }) => [place.tier, ...pausedBy])

const tier2Paused = [[0], [1], [2, 'OPERATOR']]

describe('S0-119 the pause of one tier', () => {
  test('keeps its records in their topic, while the source and the other tiers continue, until it is resumed', () =>
    connectorWorld(async (world) => {
      const { bus, handled } = await open(world)
      await world.write('orders', ['a2'])
      await world.eventually(() => expect(handled).toEqual(['a2 in 2']))
      const { generation } = world.sim.group('g-retry-1')
      await bus.admin.pauseTier('shipping', 1, alice)
      await world.write('orders', ['b1', 'c0'])
      await world.sleep(60_000)
      expect(handled).toEqual(['a2 in 2', 'c0 in 0'])
      expect(pausedOf(bus)).toEqual([[0], [1, 'OPERATOR'], [2]])
      expect([bus.getState('shipping'), world.sim.group('g-retry-1').generation]).toEqual(['RUNNING', generation])
      expect(bus.health()).toMatchObject({
        status: 'DEGRADED',
        reasons: [expect.stringContaining('Tier 1 of binding shipping is paused by an operator.')],
      })
      await bus.admin.resumeTier('shipping', 1, alice)
      await world.eventually(() => expect(handled).toEqual(['a2 in 2', 'c0 in 0', 'b1 in 1']))
      expect(bus.health()).toMatchObject({ status: 'UP', reasons: [] })
    }))

  test('and that of the binding do not end each other', () =>
    connectorWorld(async (world) => {
      const { bus } = await open(world)
      await bus.admin.pauseTier('shipping', 2, alice)
      await bus.pause('shipping')
      await bus.resume('shipping')
      expect(pausedOf(bus)).toEqual([[0], [1], [2, 'OPERATOR']])
      await bus.pause('shipping')
      await bus.admin.resumeTier('shipping', 2, alice)
      expect(pausedOf(bus)).toEqual([
        [0, 'OPERATOR'],
        [1, 'OPERATOR'],
        [2, 'OPERATOR'],
      ])
      await bus.resume('shipping')
      expect(pausedOf(bus)).toEqual([[0], [1], [2]])
    }))

  test('outlives a move of positions, which restarts the binding, and ends with a stop', () =>
    connectorWorld(async (world) => {
      const { bus } = await open(world)
      await bus.admin.pauseTier('shipping', 1, alice)
      await bus.pause('shipping')
      await bus.admin.seek('shipping', { to: 'LATEST' }, alice)
      await bus.resume('shipping')
      expect(pausedOf(bus)).toEqual([[0], [1, 'OPERATOR'], [2]])
      await bus.stop('shipping')
      await bus.start('shipping')
      expect(pausedOf(bus)).toEqual([[0], [1], [2]])
    }))

  test('applies to topics that are found later', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders.eu')
      const binding = { topic: /^orders\.[a-z]+$/, groupId: 'g', handler: () => {}, retry, topicRefreshMs: 1_000 }
      const bus = world.connector({ bindings: { shipping: binding } })
      await bus.start()
      await bus.admin.pauseTier('shipping', 1, alice)
      world.sim.createTopic('orders.us')
      await world.eventually(() =>
        expect(pausedOf(bus)).toEqual([[0], [1, 'OPERATOR'], [2], [0], [1, 'OPERATOR'], [2]]),
      )
    }))

  test('holds in a process that starts later, from its first record on, and in one that starts after all others died', () =>
    connectorWorld(async (world) => {
      const { sim, runtime } = world
      sim.createTopic('orders')
      const handled: string[] = []
      const openOn = async (instance: string, tiers = retry.tiers): Promise<readonly [Connector, FleetControl]> => {
        const client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport(instance), runtime })
        const control = createFleetControl({ log: createTopicLog({ client, runtime }), runtime })
        const handler: Binding['handler'] = ({ value }, { tier }) => {
          if (tier < 2) throw new Error('not yet')
          handled.push(`${String(value)} on ${instance}`)
        }
        const shipping: Binding = { topic: 'orders', groupId: 'g', handler, retry: { ...retry, tiers } }
        const bus = world.connector({ instance, control, bindings: { shipping } }, runtime, client)
        await bus.start()
        return [bus, control]
      }
      const [one, control] = await openOn('one')
      await one.admin.pauseTier('shipping', 2, alice)
      const [two, other] = await openOn('two')
      await world.write('orders', ['a', 'b'])
      await world.sleep(30_000)
      expect([pausedOf(one), pausedOf(two), handled]).toEqual([tier2Paused, tier2Paused, []])
      for (const ended of [one, control, two, other]) await ended.stop()
      const [three] = await openOn('three')
      await world.sleep(30_000)
      expect([pausedOf(three), handled]).toEqual([tier2Paused, []])
      // A version of the service with fewer tiers.
      const [four] = await openOn('four', [{ delayMs: 100, maxAttempts: 1 }])
      expect(pausedOf(four)).toEqual([[0], [1]])
      await four.stop()
      await three.admin.resumeTier('shipping', 2, alice)
      await world.eventually(() => expect(handled.toSorted()).toEqual(['a on three', 'b on three']))
    }))

  test('holds from a start by command on, and not from one after a start that failed', () =>
    connectorWorld(async (world) => {
      let pausedTiers: readonly number[] = [2, 9]
      const control: Control = { ...createLocalControl(), pausedTiers: () => pausedTiers }
      const binding: Binding = { topic: 'orders', groupId: 'g', handler: () => {}, retry, autoStartup: false }
      const bus = world.connector({ control, bindings: { shipping: binding } })
      await bus.start()
      await expect(bus.start('shipping')).rejects.toThrow('orders')
      pausedTiers = []
      world.sim.createTopic('orders')
      await bus.start('shipping')
      expect(pausedOf(bus)).toEqual([[0], [1], [2]])
      await bus.stop('shipping')
      pausedTiers = [2, 9]
      await bus.start('shipping')
      expect(pausedOf(bus)).toEqual(tier2Paused)
    }))

  test('is established when a process missed the command, and so is its end', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const local = createLocalControl()
      let instance: ControlledInstance | undefined
      const join: Control['join'] = (joining) => {
        instance = joining
        return local.join(joining)
      }
      const binding: Binding = { topic: 'orders', groupId: 'g', handler: () => {}, retry }
      const bus = world.connector({ control: { ...local, join }, bindings: { shipping: binding } })
      await bus.start()
      const obey = async (tiers: readonly number[]): Promise<unknown> => {
        await instance?.obeyTiers({ cluster: 'default', groupId: 'g', binding: 'shipping' }, tiers)
        return pausedOf(bus)
      }
      expect(await obey([2, 9])).toEqual(tier2Paused)
      expect(await obey([1])).toEqual([[0], [1, 'OPERATOR'], [2]])
      expect(await obey([])).toEqual([[0], [1], [2]])
      await bus.stop('shipping')
      expect(await obey([1])).toEqual([])
    }))

  test('I21 asks for a permission and is in the audit log', () =>
    connectorWorld(async (world) => {
      const entries: AuditEntry[] = []
      const administration = {
        auditLog: { write: (entry: AuditEntry) => void entries.push(entry) },
        permits: (_: unknown, operation: string) => operation === 'PAUSE_TIER',
      }
      world.sim.createTopic('orders')
      const binding = { topic: 'orders', groupId: 'g', handler: () => {}, retry }
      const bus = world.connector({ bindings: { shipping: binding }, administration })
      await bus.start()
      await bus.admin.pauseTier('shipping', 1, alice)
      await expect(bus.admin.resumeTier('shipping', 1, alice)).rejects.toThrow(OperationForbiddenError)
      expect(entries.map(({ operation, outcome }) => `${operation} ${outcome}`)).toEqual([
        'PAUSE_TIER ASKED',
        'PAUSE_TIER DONE',
        'RESUME_TIER REFUSED',
      ])
      expect(entries[0]?.request).toEqual({ type: 'PAUSE_TIER', tier: 1 })
      expect(pausedOf(bus)).toEqual([[0], [1, 'OPERATOR'], [2]])
    }))

  test.each<[string, Partial<Binding>, number, string]>([
    ['a tier that does not exist', {}, 3, "Cannot pause tier 3 of binding 'shipping': its tiers are 1 to 2."],
    ['the source', {}, 0, "Cannot pause tier 0 of binding 'shipping': its tiers are 1 to 2."],
    ['a binding without tiers', { retry: { tiers: [] } }, 1, 'it has no tiers.'],
    ['tiers that share a topic', { orderingMode: 'KEY', parallelism: 'KEY' }, 1, 'all tiers share the waiting topic.'],
  ])('is refused for %s', (_, given, tier, problem) =>
    connectorWorld(async (world) => {
      const { bus } = await open(world, given)
      const pausing = bus.admin.pauseTier('shipping', tier, alice)
      await expect(pausing).rejects.toThrow(ArgumentError)
      await expect(pausing).rejects.toThrow(problem)
    }),
  )

  test('is refused while the binding does not run', () =>
    connectorWorld(async (world) => {
      const { bus } = await open(world)
      await bus.stop('shipping')
      const pausing = bus.admin.pauseTier('shipping', 1, alice)
      await expect(pausing).rejects.toThrow(InvalidContainerStateError)
      await expect(pausing).rejects.toThrow('current state is STOPPED, pause requires RUNNING or PAUSED')
    }))
})
