import { Buffer } from 'node:buffer'
import { ArgumentError, type AuditEntry, OptionsError, pauseContainer } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { committedOffsets, topicRecords } from '../delivery/topic-records.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const alice = { by: 'alice' }
const at = (offset: bigint) => ({ partition: 0, offset })
const once = { tier0: { maxAttempts: 2 } }

/** A binding that fails for `bad`. */
async function open(
  world: ConnectorWorld,
  given: Partial<Binding>,
  administration?: Parameters<ConnectorWorld['connector']>[0]['administration'],
): Promise<{ readonly bus: Connector; readonly calls: string[] }> {
  world.sim.createTopic('orders')
  const calls: string[] = []
  const handler: Binding['handler'] = ({ value }) => {
    calls.push(String(value))
    if (String(value) === 'bad') throw new RangeError('no stock')
  }
  const binding = { topic: 'orders', groupId: 'g', handler, retry: once, ...given }
  const bus = world.connector({ bindings: { shipping: binding }, ...(administration && { administration }) })
  await bus.start()
  return { bus, calls }
}

const byKey = { orderingMode: 'KEY', parallelism: 'KEY' } as const
const strict = { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' } as const

async function untilPaused({ eventually }: ConnectorWorld, bus: Connector): Promise<void> {
  await eventually(() => {
    const [source] = bus.admin.binding('shipping').containers
    expect(source?.members[0]?.partitions[0]?.pausedBy).toContain('EXHAUSTED')
  })
}

/** Returns the number of records in the waiting topic that have no outcome, or block their key. */
function waitingOf(bus: Connector): number | undefined {
  return bus.admin.binding('shipping').containers[0]?.members[0]?.partitions[0]?.waiting
}

function manualFailures({ sim }: ConnectorWorld): unknown[] {
  const names = ['dlt-reason', 'total-attempts', 'last-exception-class', 'last-exception-message']
  return topicRecords(sim, 'orders.DLT').map(({ headers }) => names.map((name) => headers.text(`x-eventbus-${name}`)))
}

describe('S0-130 a failed record that an operator sends to the dead letter topic', () => {
  test.each<[string, Partial<Binding>]>([
    ['STRICT', strict],
    ['STRICT with lanes by key', { ...strict, parallelism: 'KEY' }],
    ['STRICT with batches', { ...strict, listenerType: 'BATCH', batchMaxRedeliveries: 1 }],
    ['a transactional binding', { ...strict, transactional: true }],
  ])(
    'is stored with the reason MANUAL, its bytes and its failure, without another call, and the partition continues: %s',
    (_, given) =>
      connectorWorld(async (world) => {
        const { bus, calls } = await open(world, given)
        await world.write('orders', ['a', 'bad', 'c'])
        await untilPaused(world, bus)
        await bus.admin.sendToDlt('shipping', at(1n), alice)
        await world.eventually(() => expect(committedOffsets(world.sim, 'g', 'orders')).toEqual({ 0: 3n }))
        expect(calls.toSorted()).toEqual(['a', 'bad', 'bad', 'c'])
        // The control records of transactions have keys of their own.
        const [dead, other] = topicRecords(world.sim, 'orders.DLT').filter(({ value }) => String(value) === 'bad')
        expect([dead?.value, other]).toEqual([Buffer.from('bad'), undefined])
        const names = [
          'dlt-reason',
          'total-attempts',
          'last-exception-class',
          'last-exception-message',
          'tier0-exception',
        ]
        expect(names.map((name) => dead?.headers.text(`x-eventbus-${name}`))).toEqual([
          'MANUAL',
          '2',
          'RangeError',
          'no stock',
          'RangeError',
        ])
        expect(await bus.audit()).toContainEqual(expect.objectContaining({ topic: 'orders', ok: 2n, dead: 1n }))
        expect(world.metrics.total('eventbus.records.dlq', { reason: 'MANUAL' })).toBe(1)
      }),
  )

  test('need not wait for the next attempt of BLOCKING_UNLIMITED', () =>
    connectorWorld(async (world) => {
      const blocking = { initialBackoffMs: 3_600_000, maxBackoffMs: 3_600_000 }
      const { bus, calls } = await open(world, { failureProfile: 'BLOCKING_UNLIMITED', retry: { ...once, blocking } })
      await world.write('orders', ['bad', 'b'])
      await world.eventually(() => expect(calls).toEqual(['bad', 'bad']))
      await world.sleep(1_000)
      await bus.admin.sendToDlt('shipping', at(0n), alice)
      await world.eventually(() => expect(calls).toEqual(['bad', 'bad', 'b']))
      expect(topicRecords(world.sim, 'orders.DLT')).toHaveLength(1)
    }))

  test('I15 waits for the resume of a binding that is paused', () =>
    connectorWorld(async (world) => {
      const { bus } = await open(world, { retry: { ...once, classifier: () => pauseContainer() } })
      await world.write('orders', ['bad', 'b'])
      await world.eventually(() => expect(bus.getState('shipping')).toBe('PAUSED'))
      await bus.admin.sendToDlt('shipping', at(0n), alice)
      await world.sleep(5_000)
      expect([bus.getState('shipping'), topicRecords(world.sim, 'orders.DLT')]).toEqual(['PAUSED', []])
      await bus.resume('shipping')
      await world.eventually(() => expect(topicRecords(world.sim, 'orders.DLT')).toHaveLength(1))
      expect(bus.getState('shipping')).toBe('RUNNING')
    }))

  test.each(['BLOCK', 'RELEASE'] as const)(
    'I7 with orderingMode KEY is the first of a blocked key, whatever its tier waits for: %s',
    (onDeadKey) =>
      connectorWorld(async (world) => {
        const retry = { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 3_600_000, maxAttempts: 1 }] }
        const { bus, calls } = await open(world, { ...byKey, keyOrder: { onDeadKey }, retry })
        await world.write('orders', ['bad', 'b', 'c'], 0, (value) => (value === 'c' ? 'other' : 'key'))
        await world.eventually(() => expect(waitingOf(bus)).toBe(2))
        for (const offset of [1n, 2n, 7n])
          await expect(bus.admin.sendToDlt('shipping', at(offset), alice)).rejects.toThrow(ArgumentError)
        await bus.admin.sendToDlt('shipping', at(0n), alice)
        await expect(bus.admin.sendToDlt('shipping', at(0n), alice)).rejects.toThrow(ArgumentError)
        const expected = onDeadKey === 'RELEASE' ? ['b', 'bad', 'bad', 'c'] : ['bad', 'bad', 'c']
        await world.eventually(() => expect(topicRecords(world.sim, 'orders.DLT')).toHaveLength(1))
        await world.eventually(() => expect(calls.toSorted()).toEqual(expected))
        await world.sleep(10_000)
        expect(calls.toSorted()).toEqual(expected)
        expect(manualFailures(world)).toEqual([['MANUAL', '2', 'RangeError', 'no stock']])
        expect(waitingOf(bus)).toBe(onDeadKey === 'RELEASE' ? 0 : 2)
      }),
  )

  test('I10 with orderingMode KEY has the class of a failure that another process saw', () =>
    connectorWorld(async (world) => {
      const retry = { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 3_600_000, maxAttempts: 1 }] }
      const given: Partial<Binding> = { ...byKey, retry }
      const { bus } = await open(world, given)
      await world.write('orders', ['bad', 'b'], 0, () => 'key')
      await world.eventually(() => expect(waitingOf(bus)).toBe(2))
      await bus.stop('shipping')
      await bus.start('shipping')
      await world.eventually(() => expect(waitingOf(bus)).toBe(2))
      await bus.admin.sendToDlt('shipping', at(0n), alice)
      await world.eventually(() => expect(waitingOf(bus)).toBe(0))
      expect(manualFailures(world)).toEqual([['MANUAL', '2', 'RangeError', expect.stringContaining('another process')]])
    }))

  test('I15 with orderingMode KEY waits for the resume of a binding that is paused', () =>
    connectorWorld(async (world) => {
      const retry = { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 3_600_000, maxAttempts: 1 }] }
      const { bus, calls } = await open(world, { ...byKey, retry })
      await world.write('orders', ['bad'], 0, () => 'key')
      await world.eventually(() => expect(waitingOf(bus)).toBe(1))
      await bus.pause('shipping')
      await bus.admin.sendToDlt('shipping', at(0n), alice)
      await bus.admin.sendToDlt('shipping', at(0n), alice)
      await world.sleep(5_000)
      expect(topicRecords(world.sim, 'orders.DLT')).toEqual([])
      await bus.resume('shipping')
      await world.eventually(() => expect(topicRecords(world.sim, 'orders.DLT')).toHaveLength(1))
      expect(calls).toEqual(['bad', 'bad'])
    }))

  test('I21 asks for a permission and is in the audit log', () =>
    connectorWorld(async (world) => {
      const entries: AuditEntry[] = []
      const auditLog = { write: (entry: AuditEntry) => void entries.push(entry) }
      const { bus } = await open(world, strict, { auditLog, permits: (_, operation) => operation === 'SEND_TO_DLT' })
      await world.write('orders', ['bad'])
      await untilPaused(world, bus)
      await bus.admin.sendToDlt('shipping', at(0n), alice)
      expect(entries.map(({ operation, outcome }) => `${operation} ${outcome}`)).toEqual([
        'SEND_TO_DLT ASKED',
        'SEND_TO_DLT DONE',
      ])
      expect(entries[0]?.request).toEqual({ type: 'SEND_TO_DLT', record: { partition: 0, offset: '0' } })
    }))

  test('is refused for records that have not failed, elsewhere, or while the binding is stopped', () =>
    connectorWorld(async (world) => {
      const { bus } = await open(world, strict)
      await world.write('orders', ['a', 'bad', 'c'])
      await untilPaused(world, bus)
      for (const record of [at(0n), at(2n), at(9n), { ...at(1n), partition: 5 }, { ...at(1n), tier: 1 }])
        await expect(bus.admin.sendToDlt('shipping', record, alice)).rejects.toThrow(ArgumentError)
      await expect(bus.admin.sendToDlt('shipping', { partition: 0 } as never, alice)).rejects.toThrow(OptionsError)
      await bus.stop('shipping')
      await expect(bus.admin.sendToDlt('shipping', at(1n), alice)).rejects.toThrow(
        'this process has no failed record at that offset',
      )
      expect(topicRecords(world.sim, 'orders.DLT')).toEqual([])
    }))
})
