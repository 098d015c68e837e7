import { ArgumentError, OptionsError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import type { AuditEntry } from '../../src/api/audit-log.ts'
import type { ConnectorOptions } from '../../src/api/connector.ts'
import { BindingNotFoundError, InvalidContainerStateError } from '../../src/api/connector-errors.ts'
import type { BindingProperties } from '../../src/api/event-bus-admin.ts'
import { HandlerRegistry } from '../../src/api/handler-registry.ts'
import { AuditUnwritableError, OperationForbiddenError } from '../../src/operations/admin-errors.ts'
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
        entries.map(({ by, reason, operation, binding, outcome }) => [by, reason, operation, binding, outcome]),
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

  test('I21 is logged without an audit log', () =>
    connectorWorld(async (world) => {
      const bus = world.connector({
        bindings: { orders: { topic: 'orders', groupId: 'orders', handler: async () => {} } },
      })
      await bus.admin.destroy('orders', alice)
      const lines = world.logger.lines.filter(({ text }) => text.startsWith('Admin operation'))
      expect(lines.map(({ text }) => text)).toEqual([
        'Admin operation DESTROY of orders by alice: ASKED',
        'Admin operation DESTROY of orders by alice: DONE',
      ])
      expect(lines[0]?.fields).toMatchObject({ by: 'alice', reason: 'ticket 7', request: '{"type":"DESTROY"}' })
    }))

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
      await expect(bus.admin.start('orders', { by: ' ' })).rejects.toThrow(ArgumentError)
      await expect(bus.admin.destroy('orders', alice)).rejects.toThrow(OperationForbiddenError)
      expect(entries).toMatchObject([{ by: 'alice', operation: 'DESTROY', outcome: 'REFUSED' }])
      await bus.admin.destroy('orders', { by: 'root' })
      expect(bus.admin.bindings()).toEqual([])
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
          statuses: async () => [],
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
