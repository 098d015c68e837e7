import { defineEvents } from '@waybill/core'
import { defineTopology } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { adminWorld } from '../support/admin-world.ts'
import { bury } from '../support/bury.ts'

const topologies = {
  default: defineTopology({
    environment: 'DEV',
    topics: [
      { name: 'orders', partitions: 2 },
      { name: 'returns', partitions: 3 },
    ],
  }),
}

describe('topics', () => {
  test('of bindings are listed with their partitions, their roles and what endangers them', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b'])
      const { items } = (await world.ask('GET', '/eventbus/topics')).body
      const byName = new Map(items.map((one: { topic: string }) => [one.topic, one]))
      expect(byName.get('orders')).toMatchObject({
        cluster: 'default',
        uses: [{ binding: 'shipping', role: 'SOURCE' }],
        replication: 1,
        underReplicated: 0,
        remarks: expect.arrayContaining(['replication 1: losing one broker loses its records']),
        trouble: null,
      })
      const { partitions } = byName.get('orders.DLT') as { partitions: { end: string }[] }
      expect(partitions.reduce((sum, { end }) => sum + Number(end), 0)).toBe(2)
      const tiers = (await world.ask('GET', '/eventbus/topics?role=TIER')).body.items
      expect(tiers.map((one: { topic: string }) => one.topic)).toContain('orders.retry-1')
      expect(await world.ask('GET', '/eventbus/topics?role=WAITNG')).toMatchObject({ status: 400 })
    }))

  test('that are declared are compared with the cluster and created', () =>
    adminWorld({ admin: { topologies } }, async ({ ask, audit, client }) => {
      expect((await ask('GET', '/eventbus/topics/plan')).body.steps).toMatchObject([
        { kind: 'CREATE', topic: 'returns' },
      ])
      expect((await ask('POST', '/eventbus/topics/apply?dryRun=true')).body).toMatchObject({
        dryRun: true,
        created: ['returns'],
      })
      expect(await client.admin.listTopics()).not.toContain('returns')
      expect(audit).toEqual([])
      expect((await ask('POST', '/eventbus/topics/apply', { body: { reason: 'release 7' } })).body).toMatchObject({
        created: ['returns'],
        changed: [],
      })
      expect(await client.admin.listTopics()).toContain('returns')
      expect(audit).toMatchObject([
        { operation: 'APPLY_TOPOLOGY', target: 'default', by: 'ana', reason: 'release 7', outcome: 'ASKED' },
        { outcome: 'DONE', detail: { created: ['returns'] } },
      ])
      expect(await ask('POST', '/eventbus/topics/apply', { body: { alterConfig: true } })).toMatchObject({
        status: 400,
      })
      expect(await ask('GET', '/eventbus/topics/plan?cluster=eu')).toMatchObject({ status: 404 })
    }))

  test('are for operators with their permissions', () =>
    adminWorld({ admin: { topologies }, access: { ben: { 'bindings:read': true } } }, async ({ ask, client }) => {
      for (const path of ['topics', 'topics/plan', 'groups', 'groups/mail', 'schemas']) {
        expect(await ask('GET', `/eventbus/${path}`, { by: '' })).toMatchObject({ status: 401 })
        expect(await ask('GET', `/eventbus/${path}`, { by: 'ben' })).toMatchObject({ status: 403 })
      }
      expect(await ask('POST', '/eventbus/topics/apply', { by: 'ben' })).toMatchObject({
        status: 403,
        body: { permission: 'topics:apply' },
      })
      expect(await client.admin.listTopics()).not.toContain('returns')
    }))
})

describe('groups', () => {
  test('of bindings are listed, with others on the same topics, and shown with members and lag', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b'])
      const { ask, client, eventually } = world
      await using other = client.consumer({ groupId: 'billing', topics: ['orders'] })
      await other.start()
      await eventually(async () => {
        const { items } = (await ask('GET', '/eventbus/groups')).body
        const shown = items.map((one: { groupId: string; binding: string | null }) => [one.groupId, one.binding])
        expect(shown).toEqual(
          expect.arrayContaining([
            ['shipping', 'shipping'],
            ['mail', 'mail'],
            ['billing', null],
          ]),
        )
        await world.runtime.timers.sleep(1_000)
      })
      const { body } = await ask('GET', '/eventbus/groups/shipping')
      expect(body).toMatchObject({ groupId: 'shipping', binding: 'shipping', state: 'Stable', members: 1 })
      expect(body.memberList[0].assignment).toHaveLength(2)
      await eventually(async () => {
        const { partitions } = (await ask('GET', '/eventbus/groups/shipping')).body
        expect(partitions.reduce((sum: number, one: { lag: string }) => sum + Number(one.lag), 0)).toBe(0)
        await world.runtime.timers.sleep(1_000)
      })
      expect(await ask('GET', '/eventbus/groups/nothing')).toMatchObject({ status: 404 })
      expect(await ask('GET', '/eventbus/groups/mail?cluster=eu')).toMatchObject({ status: 404 })
    }))
})

test('the events of the catalogs are listed with their versions', () => {
  const orders = defineEvents({
    'order.placed': {
      topic: 'orders',
      schema: z.object({ orderId: z.string() }),
      key: (order) => order.orderId,
      version: 3,
      description: 'A customer placed an order.',
    },
  })
  return adminWorld({ admin: { catalogs: { orders } } }, async ({ ask }) => {
    expect((await ask('GET', '/eventbus/schemas')).body.items).toMatchObject([
      {
        catalog: 'orders',
        event: 'order.placed',
        topic: 'orders',
        version: 3,
        versions: [3],
        readsAllVersions: true,
        undeclared: 'REFUSE',
        description: 'A customer placed an order.',
      },
    ])
  })
})
