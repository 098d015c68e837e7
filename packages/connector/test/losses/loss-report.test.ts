import { onEngineEvent, runtimeWith } from '@waybill/core'
import { PartialFailureError } from '@waybill/kafka'
import { describe, expect, onTestFinished, test } from 'vitest'
import { encodeCommitMetadata } from '../../src/ledger/commit-metadata.ts'
import { ledgerStateAt } from '../../src/ledger/ledger.ts'
import { auditRow } from '../../src/losses/audit-report.ts'
import { LossReport } from '../../src/losses/loss-report.ts'
import { collecting, connectorWorld } from '../support/connector-world.ts'

const plain = { topic: 'orders', groupId: 'shipping' }

describe('records that vanished', () => {
  test('turn health DOWN until they are acknowledged', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics }) => {
      const found: string[] = []
      const subscription = onEngineEvent('loss:found', ({ kind, topic, partition }) => {
        found.push(`${kind} ${topic}-${partition}`)
      })
      onTestFinished(() => subscription[Symbol.dispose]())
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, handler: shipping.handler } } })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
      await bus.stop('shipping')
      await write('orders', ['b', 'c', 'd'])
      sim.deleteRecords('orders', 0, 3n)
      await bus.start('shipping')
      await eventually(() => expect(shipping.values).toEqual(['a', 'd']))
      expect(bus.health()).toMatchObject({
        status: 'DOWN',
        reasons: [expect.stringMatching(/shipping, orders-0: the records from offset 1 on were deleted/)],
      })
      expect([bus.ready(), bus.live()]).toEqual([false, true])
      expect(found).toEqual(['LOST orders-0'])
      expect(metrics.total('eventbus.records.lost', { binding: 'shipping', cluster: 'default' })).toBe(2)
      expect(await bus.acknowledgeLoss('shipping', { by: 'alice' }, { topic: 'orders', partition: 7 })).toEqual([])
      expect(await bus.acknowledgeLoss('shipping', { by: 'alice' })).toMatchObject([
        { topic: 'orders', partition: 0, records: 2n },
      ])
      expect([bus.health().status, bus.ready()]).toEqual(['UP', true])
    }))

  test('are found by the audit before the binding starts again', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, handler: shipping.handler } } })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
      await bus.stop('shipping')
      await write('orders', ['b', 'c', 'd'])
      sim.deleteRecords('orders', 0, 3n)
      expect(await bus.audit()).toMatchObject([{ topic: 'orders', partition: 0, committed: 1n, missing: 2n }])
      expect(bus.health().status).toBe('DOWN')
    }))
})

describe('an acknowledged finding of an audit', () => {
  const place = { binding: 'orders', topic: 'orders.events', groupId: 'orders' }
  const wrong = auditRow(place, 0, { committed: 7n, metadata: null }, 0n)
  const right = auditRow(place, 0, { committed: 7n, metadata: encodeCommitMetadata(ledgerStateAt(7n)) }, 0n)

  const acknowledged = (): LossReport => {
    const report = new LossReport(runtimeWith({}))
    report.audited(wrong)
    expect(report.acknowledge('orders')).toHaveLength(1)
    report.audited(wrong)
    expect(report.ledger.list()).toEqual([])
    return report
  }

  test('is reported again once the commit was right in between', () => {
    const report = acknowledged()
    report.audited(right)
    report.audited(wrong)
    expect(report.ledger.list()).toHaveLength(1)
  })

  test('is reported to a new binding of the name', () => {
    const report = new LossReport(runtimeWith({}))
    report.audited(wrong)
    report.forget('orders')
    expect(report.ledger.list()).toEqual([])
    report.audited(wrong)
    expect(report.ledger.list()).toHaveLength(1)
  })
})

describe('the audit', () => {
  test('accounts for every record of a source and its tiers', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const bus = connector({
        bindings: {
          shipping: {
            ...plain,
            retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 10, maxAttempts: 1 }] },
            handler: (record) => {
              if (record.value?.toString() === 'bad') throw new Error('bad')
            },
          },
        },
      })
      await bus.start()
      await write('orders', ['a', 'bad', 'b'])
      await eventually(() => expect(sim.partition('orders.DLT', 0).highWatermark).toBe(1n))
      await bus.stop()
      const rows = await bus.audit()
      expect(rows).toMatchObject([
        { topic: 'orders', groupId: 'shipping', since: 0n, committed: 3n, ok: 2n, retried: 1n, dead: 0n },
        { topic: 'orders.retry-1', groupId: 'shipping-retry-1', committed: 1n, ok: 0n, retried: 0n, dead: 1n },
      ])
      expect(rows.every(({ problem, missing }) => problem === undefined && missing === 0n)).toBe(true)
      expect(bus.health().status).toBe('UP')
    }))

  test('accounts for a group that began at the end of its topic', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      await write('orders', ['before'])
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, startFrom: 'LATEST', handler: shipping.handler } } })
      await bus.start()
      await eventually(() => expect(sim.group('shipping').offsets).toHaveLength(1))
      await write('orders', ['a'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
      await bus.stop('shipping')
      expect(await bus.audit()).toMatchObject([{ since: 1n, committed: 2n, ok: 1n, problem: undefined }])
      expect(bus.health().reasons).toEqual([])
    }))

  test('reports that a group whose offsets were reset cannot be accounted for', () =>
    connectorWorld(async ({ sim, client, connector, write, eventually }) => {
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, handler: shipping.handler } } })
      await bus.start()
      await write('orders', ['a', 'b'])
      await eventually(() => expect(shipping.values).toEqual(['a', 'b']))
      await bus.stop('shipping')
      await client.admin.alterGroupOffsets('shipping', [{ topic: 'orders', partition: 0, offset: 1n }])
      expect(await bus.audit()).toMatchObject([{ committed: 1n, problem: 'the commit has no metadata' }])
      expect(bus.health()).toMatchObject({ status: 'DEGRADED', reasons: [expect.stringMatching(/accounted for/)] })
      await bus.acknowledgeLoss('shipping', { by: 'alice' })
      await bus.start('shipping')
      await eventually(() => expect(shipping.values).toEqual(['a', 'b', 'b']))
      expect(bus.health()).toMatchObject({
        status: 'DEGRADED',
        reasons: [expect.stringMatching(/the outcome of earlier records is unknown/)],
      })
      await bus.acknowledgeLoss('shipping', { by: 'alice' })
      expect(bus.health().status).toBe('UP')
    }))

  test('reports a difference once, wherever the position is by then, and not again after it was acknowledged', () =>
    connectorWorld(async ({ sim, client, connector, write, eventually }) => {
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({
        bindings: { shipping: { ...plain, orderingMode: 'KEY', parallelism: 'KEY', handler: shipping.handler } },
      })
      await write('orders', ['a', 'b'])
      const metadata = 'wb1 s=0 o=1 r=1 d=0 k=0 h=0 b= w=0 ws=0 wo=0 wr=0 wd=0 wk=0 wh=0 wp=0 wn=0 wb='
      await client.admin.alterGroupOffsets('shipping', [{ topic: 'orders', partition: 0, offset: 2n, metadata }])
      await bus.audit()
      const differences = () =>
        bus.health().reasons.filter((reason) => /commit cannot be accounted for: 1 records/.test(reason))
      expect(differences()).toHaveLength(1)
      await bus.start()
      for (const value of ['c', 'd']) {
        await write('orders', [value])
        await eventually(() => expect(shipping.values.at(-1)).toBe(value))
        await bus.audit()
      }
      expect(differences()).toHaveLength(1)
      await bus.acknowledgeLoss('shipping', { by: 'alice' })
      await bus.audit()
      expect(bus.health().status).toBe('UP')
    }))

  test('rejects when the cluster does not answer', () =>
    connectorWorld(async ({ sim, connector }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: { shipping: { ...plain, handler: collecting().handler } } })
      sim.killBroker(1)
      await expect(bus.audit()).rejects.toThrow(PartialFailureError)
    }))
})
