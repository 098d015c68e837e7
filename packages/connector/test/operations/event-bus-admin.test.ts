import {
  ArgumentError,
  type AuditEntry,
  AuditUnwritableError,
  applicationOperator,
  createMemoryMetrics,
  noopLogger,
  OperationForbiddenError,
  OptionsError,
  runtimeWith,
} from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ConnectorOptions } from '../../src/api/connector.ts'
import { BindingNotFoundError, InvalidContainerStateError } from '../../src/api/connector-errors.ts'
import type { BindingProperties } from '../../src/api/event-bus-admin.ts'
import { HandlerRegistry } from '../../src/api/handler-registry.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { collecting, connectorWorld } from '../support/connector-world.ts'

const alice = { by: 'alice', reason: 'ticket 7' }

function auditTo(entries: AuditEntry[]): Pick<ConnectorOptions, 'administration'> {
  return { administration: { auditLog: { write: (entry) => void entries.push(entry) } } }
}

describe('registering a binding that comes as data', () => {
  test('C-13 uses the named handler, starts the binding, and returns the instances it reached', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const { handler, values } = collecting()
      const bus = world.connector({
        code: { handlers: new HandlerRegistry({ shipping: handler }) },
        instance: 'host-1',
      })
      await bus.start()
      const answer = await bus.admin.register(
        { name: 'orders', handler: 'shipping', topic: 'orders', 'group-id': 'orders' },
        alice,
      )
      expect(answer).toEqual({
        scope: 'INSTANCE',
        instances: [{ instance: 'host-1', outcome: 'APPLIED', state: 'RUNNING' }],
      })
      await world.write('orders', ['a'])
      await world.eventually(() => expect(values).toEqual(['a']))
    }))

  test('uses the handler of its own name by default', () =>
    connectorWorld(async (world) => {
      const bus = world.connector({ code: { handlers: { orders: async () => {} } } })
      await bus.admin.register({ name: 'orders', topic: 'orders', groupId: 'orders' }, alice)
      expect(bus.admin.binding('orders')).toMatchObject({ name: 'orders', state: 'CREATED', topics: ['orders'] })
    }))

  test('C-13 is refused without such a handler, and adds nothing', () =>
    connectorWorld(async (world) => {
      const bus = world.connector({ code: { handlers: new HandlerRegistry({ shipping: async () => {} }) } })
      const registering = bus.admin.register(
        { name: 'orders', handler: 'shiping', topic: 'orders', groupId: 'orders' },
        alice,
      )
      await expect(registering).rejects.toThrow(OptionsError)
      await expect(registering).rejects.toThrow(/shipping/)
      expect(bus.admin.bindings()).toEqual([])
    }))

  test.each([
    [undefined, 'register(): 1 invalid option:\n  name is required: a text that is not empty'],
    ['orders', 'register() must be an object, got "orders"'],
    [{ topic: 'orders', groupId: 'orders' }, 'name is required: a text that is not empty'],
    [{ name: 7, topic: 'orders', groupId: 'orders' }, 'name must be a text that is not empty, got 7'],
    [{ name: 'orders', topic: 'orders', gruop: 'orders' }, 'bindings.orders.gruop is not an option'],
  ])('I21 %j is refused with the violation, and not audited', (given, problem) =>
    connectorWorld(async (world) => {
      const entries: AuditEntry[] = []
      const bus = world.connector({ code: { handlers: { orders: async () => {} } }, ...auditTo(entries) })
      const registering = bus.admin.register(given as unknown as BindingProperties, alice)
      await expect(registering).rejects.toThrow(OptionsError)
      await expect(registering).rejects.toThrow(problem)
      expect(entries).toEqual([])
      expect(bus.admin.bindings()).toEqual([])
    }),
  )
})

describe('a command of an operator', () => {
  test('goes through the control, whose answer has the scope of this process alone', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const bus = world.connector({
        bindings: { orders: { topic: 'orders', groupId: 'orders', handler: async () => {} } },
        instance: 'host-1',
      })
      const answers = [
        await bus.admin.start('orders', alice),
        await bus.admin.pause('orders', alice),
        await bus.admin.resume('orders', alice),
        await bus.admin.stop('orders', alice, { deadlineMs: 1_000 }),
        await bus.admin.destroy('orders', alice),
      ]
      expect(answers.map(({ scope, instances: [one] }) => [scope, one?.instance, one?.state])).toEqual([
        ['INSTANCE', 'host-1', 'RUNNING'],
        ['INSTANCE', 'host-1', 'PAUSED'],
        ['INSTANCE', 'host-1', 'RUNNING'],
        ['INSTANCE', 'host-1', 'STOPPED'],
        ['INSTANCE', 'host-1', 'DESTROYED'],
      ])
      expect(bus.listBindings()).toEqual([])
    }))

  test('I21 is audited before and after it runs, with the operator and the reason', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const entries: AuditEntry[] = []
      const bus = world.connector({
        bindings: { orders: { topic: 'orders', groupId: 'orders', handler: async () => {} } },
        ...auditTo(entries),
      })
      await bus.start()
      await bus.admin.pause('orders', alice)
      await expect(bus.admin.pause('orders', alice)).rejects.toThrow(InvalidContainerStateError)
      await bus.admin.seek('orders', { to: 'LATEST' }, { by: 'bob' })
      expect(
        entries.map(({ by, reason, operation, target, outcome }) => [by, reason, operation, target, outcome]),
      ).toEqual([
        ['alice', 'ticket 7', 'PAUSE', 'orders', 'ASKED'],
        ['alice', 'ticket 7', 'PAUSE', 'orders', 'DONE'],
        ['alice', 'ticket 7', 'PAUSE', 'orders', 'ASKED'],
        ['alice', 'ticket 7', 'PAUSE', 'orders', 'FAILED'],
        ['bob', undefined, 'SEEK', 'orders', 'ASKED'],
        ['bob', undefined, 'SEEK', 'orders', 'DONE'],
      ])
      expect(new Set(entries.map(({ id }) => id)).size).toBe(3)
      expect(entries[3]?.detail).toContain("Cannot pause binding 'orders'")
      expect(entries[4]).toMatchObject({ request: { type: 'SEEK', seek: { to: 'LATEST' } }, scope: 'INSTANCE' })
      // Audit logs store entries as JSON, which has no bigint.
      expect(JSON.parse(JSON.stringify(entries[5]))).toMatchObject({ detail: [{ positions: [{ to: '0' }] }] })
    }))

  test.each([
    ['a runtime with other metrics', { metrics: createMemoryMetrics() }],
    ['a logger that drops everything', { logger: noopLogger }],
  ])('I21 is on standard error without an audit log, with %s', async (_, parts) => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => written.mockRestore())
    const sim = createSimCluster()
    await using kafka = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('test') })
    await using bus = createConnector({
      clusters: { default: kafka },
      bindings: { orders: { topic: 'orders', groupId: 'orders', handler: async () => {} } },
      administration: { permits: () => true },
      runtime: runtimeWith(parts),
    })
    await bus.admin.destroy('orders', alice)
    const lines = written.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('Admin operation'))
    expect(lines).toHaveLength(2)
    expect(lines[0]).toContain('INFO Admin operation DESTROY of orders by alice: ASKED')
    expect(lines[0]).toContain('reason="ticket 7"')
    expect(lines[1]).toContain('INFO Admin operation DESTROY of orders by alice: DONE')
  })

  test('I21 is not run when its request cannot be audited', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const bus = world.connector({
        bindings: { orders: { topic: 'orders', groupId: 'orders', handler: async () => {} } },
        administration: { auditLog: { write: () => Promise.reject(new Error('disk full')) } },
      })
      await bus.start()
      await expect(bus.admin.pause('orders', alice)).rejects.toThrow(AuditUnwritableError)
      expect(bus.getState('orders')).toBe('RUNNING')
    }))

  test('I21 is not run without an identity or a permission', () =>
    connectorWorld(async (world) => {
      const entries: AuditEntry[] = []
      const bus = world.connector({
        bindings: { orders: { topic: 'orders', groupId: 'orders', handler: async () => {} } },
        administration: {
          ...auditTo(entries).administration,
          permits: ({ by }, operation) => by === 'root' || operation === 'PAUSE',
        },
      })
      // No request body can be the application: only its own object is.
      await expect(bus.admin.start('orders', { by: 'application' })).rejects.toThrow(/reserved/)
      await expect(bus.admin.start('orders', { by: ' ' })).rejects.toThrow(ArgumentError)
      await expect(bus.admin.destroy('orders', alice)).rejects.toThrow(OperationForbiddenError)
      expect(entries).toMatchObject([{ by: 'alice', operation: 'DESTROY', outcome: 'REFUSED' }])
      await bus.admin.destroy('orders', { by: 'root' })
      expect(bus.admin.bindings()).toEqual([])
    }))

  test('I21 is refused to every operator but the program itself when nothing says who may', async () => {
    const entries: AuditEntry[] = []
    const sim = createSimCluster()
    await using kafka = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('test') })
    await using bus = createConnector({
      clusters: { default: kafka },
      bindings: { orders: { topic: 'orders', groupId: 'orders', handler: async () => {} } },
      ...auditTo(entries),
    })
    const reading = async () => {
      for await (const _ of bus.admin.deadLetters('orders', alice)) throw new Error('It listed them')
    }
    for (const asked of [
      () => bus.admin.destroy('orders', alice),
      () => bus.admin.dltStats('orders', alice),
      () => bus.acknowledgeLoss('orders', alice),
      reading,
    ])
      await expect(asked()).rejects.toThrow(OperationForbiddenError)
    expect(entries.map(({ operation, outcome }) => [operation, outcome])).toEqual([
      ['DESTROY', 'REFUSED'],
      ['COUNT_DEAD_LETTERS', 'REFUSED'],
      ['ACKNOWLEDGE_LOSS', 'REFUSED'],
      ['READ_DEAD_LETTERS', 'REFUSED'],
    ])
    expect(bus.admin.bindings()).toHaveLength(1)
    await bus.admin.destroy('orders', applicationOperator('cleaning up'))
    expect(entries.at(-1)).toMatchObject({ by: 'application', reason: 'cleaning up', outcome: 'DONE' })
  })

  test('I21 that acknowledges losses is audited', () =>
    connectorWorld(async (world) => {
      const entries: AuditEntry[] = []
      const bus = world.connector({
        bindings: { orders: { topic: 'orders', groupId: 'orders', handler: async () => {} } },
        ...auditTo(entries),
      })
      expect(await bus.acknowledgeLoss('orders', alice, { topic: 'orders', partition: 0 })).toEqual([])
      expect(entries).toMatchObject([
        { operation: 'ACKNOWLEDGE_LOSS', outcome: 'ASKED', request: { partition: { topic: 'orders', partition: 0 } } },
        { operation: 'ACKNOWLEDGE_LOSS', outcome: 'DONE', by: 'alice', target: 'orders', detail: [] },
      ])
    }))

  test('for an unknown binding is refused', () =>
    connectorWorld(async (world) => {
      const bus = world.connector({})
      await expect(bus.admin.pause('orders', alice)).rejects.toThrow(BindingNotFoundError)
      expect(() => bus.admin.binding('orders')).toThrow(BindingNotFoundError)
    }))
})

describe('the desired state of a fleet', () => {
  test('applies to a process that joins later: paused bindings start paused, stopped ones do not start', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      world.sim.createTopic('payments')
      const { handler, values } = collecting()
      const bus = world.connector({
        bindings: {
          orders: { topic: 'orders', groupId: 'orders', handler },
          payments: { topic: 'payments', groupId: 'payments', handler },
        },
        control: {
          scope: 'FLEET',
          join: () => ({ [Symbol.dispose]: () => {} }),
          submit: () => Promise.reject(new Error('nobody asks')),
          desired: async ({ binding }) => (binding === 'orders' ? 'PAUSED' : 'STOPPED'),
          pausedTiers: () => [],
          statuses: async () => [],
          instances: async () => [],
          begin: () => {},
          reach: () => ({ trouble: undefined, isKnown: true }),
        },
      })
      await bus.start()
      await world.write('orders', ['a'])
      await world.write('payments', ['b'])
      await world.sleep(30_000)
      expect([bus.getState('orders'), bus.getState('payments'), values]).toEqual(['PAUSED', 'CREATED', []])
      await bus.stop()
    }))
})
