import { DatabaseSync } from 'node:sqlite'
import { createDeadLetterIndex, fromSqlite, migrate } from '@waybill/sql'
import { describe, expect, test } from 'vitest'
import { type AdminWorld, adminWorld, type WorldOptions } from '../support/admin-world.ts'

/** Writes records that become dead letters, and waits until they are shown. */
async function bury(
  { connector, write, ask, eventually, runtime }: AdminWorld,
  values: readonly string[],
): Promise<void> {
  await connector.start()
  await write('orders', values)
  await eventually(async () => {
    const { body } = await ask('GET', '/eventbus/dead-letters')
    expect(body.total).toEqual({ count: String(values.length), exact: true })
  })
  // The limit of requests recovers.
  await runtime.timers.sleep(5_000)
}

const text = (value: string) => ({ encoding: 'utf8', text: value, bytes: value.length })
const hidden = (value: string) => ({ hidden: true, bytes: value.length })
const letters = '/eventbus/dead-letters'

async function inDatabase(): Promise<WorldOptions> {
  const database = fromSqlite(new DatabaseSync(':memory:'))
  await migrate(database, { tables: { outbox: false, inbox: false, admin: 'waybill' } })
  return { admin: { deadLetters: createDeadLetterIndex(database) } }
}

describe.each([
  ['MEMORY', async (): Promise<WorldOptions> => ({})],
  ['INDEX', inDatabase],
] as const)('dead letters with an index in mode %s', (mode, open) => {
  test('are grouped by their cause, listed, counted and searched', async () =>
    adminWorld(await open(), async (world) => {
      await bury(world, ['a1', 'a2', 'b1'])
      const { ask } = world
      const groups = await ask('GET', `${letters}/groups`)
      expect(groups.body).toMatchObject({
        total: { count: '2', exact: true },
        source: { mode, lagRecords: '0', unreadClusters: [] },
        items: [
          {
            state: 'OPEN',
            count: '2',
            binding: 'shipping',
            exception: 'NonRetryableError',
            message: text('a# is refused'),
          },
          { count: '1', message: text('b# is refused') },
        ],
      })
      const { group, sample } = groups.body.items[0]
      const ofGroup = await ask('GET', `${letters}?group=${group}&limit=1`)
      expect(ofGroup.body).toMatchObject({ total: { count: '2' }, items: [{ group, state: 'OPEN' }] })
      const rest = await ask('GET', `${letters}?group=${group}&limit=1&cursor=${ofGroup.body.next}`)
      expect(rest.body).toMatchObject({ next: null, items: [{ group }] })
      expect(rest.body.items[0].id).not.toBe(ofGroup.body.items[0].id)
      const facets = await ask('GET', `${letters}/facets?by=binding,state,event`)
      expect(facets.body.facets).toEqual({
        binding: { values: [{ value: 'shipping', count: '3' }], other: '0' },
        state: { values: [{ value: 'OPEN', count: '3' }], other: '0' },
        event: { values: [{ value: null, count: '3' }], other: '0' },
      })
      expect((await ask('GET', `${letters}?q=B1`)).body.items).toMatchObject([{ key: text('b1') }])
      expect((await ask('GET', `${letters}?since=PT1H&key=a*`)).body).toMatchObject({
        total: { count: '2' },
        filter: { since: expect.stringMatching(/Z$/), until: null },
      })
      expect((await ask('GET', `${letters}/${sample}`)).body).toMatchObject({ id: sample, group })
    }))

  test('that are purged are not shown any more', async () =>
    adminWorld(await open(), async (world) => {
      await bury(world, ['a1', 'a2'])
      const { ask, runtime, eventually } = world
      const [{ id }] = (await ask('GET', letters)).body.items
      await runtime.timers.sleep(60_000)
      const reason = { headers: { 'waybill-reason': 'old', prefer: 'wait=60' } }
      await ask('DELETE', '/eventbus/bindings/shipping/dlt?olderThan=PT30S', reason)
      await eventually(async () => expect((await ask('GET', letters)).body.items).toEqual([]))
      await runtime.timers.sleep(5_000)
      expect(await ask('GET', `${letters}/${id}`)).toMatchObject({
        status: 410,
        body: { code: 'WAYBILL_DEAD_LETTER_GONE' },
      })
    }))
})

describe('one dead letter', () => {
  test('is shown with its error, its headers and what may be done', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a1'])
      const { ask, audit } = world
      const [{ id }] = (await ask('GET', letters)).body.items
      const answer = await ask('GET', `${letters}/${id}`)
      expect(answer.headers['etag']).toBe('"0-OPEN"')
      expect(answer.body).toMatchObject({
        id,
        binding: 'shipping',
        consumerGroup: 'shipping',
        reason: 'NON_RETRYABLE',
        original: { topic: 'orders', stillThere: true },
        error: { class: 'NonRetryableError', message: text('a1 is refused'), stack: { encoding: 'utf8' } },
        key: text('a1'),
        value: text('a1'),
        history: [{ id, state: 'OPEN', replayCount: 0 }],
        actions: {
          replay: { allowed: true },
          edit: { allowed: false, because: 'Editing is off on this server.' },
        },
      })
      expect(answer.body.headers).toContainEqual({
        name: 'x-eventbus-dlt-reason',
        class: 'LOCKED',
        value: text('NON_RETRYABLE'),
      })
      await ask('GET', `${letters}/${id}`)
      const reads = audit.filter(({ operation }) => operation === 'PAYLOAD_READ')
      expect(reads.map(({ by, target, outcome }) => [by, target, outcome])).toEqual([
        ['ana', 'shipping', 'ASKED'],
        ['ana', 'shipping', 'DONE'],
      ])
    }))

  test('is downloaded byte for byte', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a1'])
      const [{ id }] = (await world.ask('GET', letters)).body.items
      const answer = await world.ask('GET', `${letters}/${id}/raw`)
      expect(answer).toMatchObject({ status: 200, text: 'a1' })
      expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="orders.DLT-\d-0.value"$/)
      const { text: headers } = await world.ask('GET', `${letters}/${id}/raw?part=headers`)
      expect(JSON.parse(headers)).toContainEqual([
        'x-eventbus-dlt-reason',
        Buffer.from('NON_RETRYABLE').toString('base64'),
      ])
    }))

  test.each([
    'x',
    'orders.DLT:0:99',
    'orders.DLT:9:0',
    'none.DLT:0:0',
    'eu:orders.DLT:0:0',
    'orders.DLT:0:99999999999999999999',
  ])('is not found as %s', (id) =>
    adminWorld({}, async (world) => {
      await bury(world, ['a1'])
      expect(await world.ask('GET', `${letters}/${id}`)).toMatchObject({ status: 404 })
    }),
  )
})

describe('payloads of dead letters', () => {
  test('are hidden from operators without payloads:read, and cannot be searched by them', () =>
    adminWorld({ access: { vic: 'READ_ONLY' } }, async (world) => {
      await bury(world, ['a1'])
      const { ask, audit } = world
      const by = { by: 'vic' }
      const { body } = await ask('GET', letters, by)
      expect(body.items).toMatchObject([{ key: hidden('a1'), message: hidden('a1 is refused') }])
      const { id } = body.items[0]
      const detail = await ask('GET', `${letters}/${id}`, by)
      expect(detail.body).toMatchObject({ key: hidden('a1'), value: hidden('a1'), error: { stack: { hidden: true } } })
      expect(detail.text).not.toContain('a1 is refused')
      expect((await ask('GET', `${letters}/groups`, by)).body.items).toMatchObject([{ message: { hidden: true } }])
      for (const url of [`${letters}?q=a`, `${letters}?key=a*`, `${letters}/facets?q=a`, `${letters}/groups?key=a1`])
        expect(await ask('GET', url, by)).toMatchObject({ status: 403, body: { permission: 'payloads:read' } })
      expect(await ask('GET', `${letters}/${id}/raw`, by)).toMatchObject({ status: 403 })
      expect(audit.filter(({ operation }) => operation === 'PAYLOAD_READ')).toEqual([])
    }))

  test('are masked for everybody, and downloaded with payloads:raw only', () =>
    adminWorld(
      {
        access: { rob: { 'dlt:read': true, 'payloads:read': true } },
        admin: { payloads: { mask: ['$.card.number'], maskHeaders: ['x-eventbus-dlt-reason'] } },
      },
      async (world) => {
        await bury(world, ['{"id": 9007199254740993, "card": {"number": "4111"}}'])
        const [{ id }] = (await world.ask('GET', letters)).body.items
        const { body } = await world.ask('GET', `${letters}/${id}`)
        expect(body.value.text).toBe('{"id": 9007199254740993, "card": {"number": "***"}}')
        expect(body.headers).toContainEqual({
          name: 'x-eventbus-dlt-reason',
          class: 'LOCKED',
          value: hidden('NON_RETRYABLE'),
        })
        expect(await world.ask('GET', `${letters}/${id}/raw`, { by: 'rob' })).toMatchObject({
          status: 403,
          body: { permission: 'payloads:raw' },
        })
        expect((await world.ask('GET', `${letters}/${id}/raw`)).text).toContain('4111')
      },
    ))
})

describe('an operator with permissions for one binding', () => {
  test('sees its dead letters alone', () =>
    adminWorld(
      {
        access: {
          mia: { 'dlt:read': ['mail'], 'dlt:triage': ['mail'] },
          sam: { 'dlt:read': ['shipping'], 'dlt:triage': ['mail'] },
        },
      },
      async (world) => {
        await bury(world, ['a1'])
        const { ask } = world
        const [{ id, group }] = (await ask('GET', letters, { by: 'sam' })).body.items
        const by = { by: 'mia' }
        expect((await ask('GET', letters, by)).body.items).toEqual([])
        expect((await ask('GET', `${letters}/groups`, by)).body.items).toEqual([])
        expect((await ask('GET', `${letters}/facets`, by)).body.facets.binding.values).toEqual([])
        expect(await ask('GET', `${letters}?binding=shipping`, by)).toMatchObject({ status: 403 })
        expect(await ask('GET', `${letters}/${id}`, by)).toMatchObject({ status: 404 })
        const change = { body: { state: 'RESOLVED' } }
        expect(await ask('PATCH', `${letters}/groups/${group}`, { ...by, ...change })).toMatchObject({ status: 404 })
        expect(await ask('PATCH', `${letters}/groups/${group}`, { by: 'sam', ...change })).toMatchObject({
          status: 403,
        })
      },
    ))
})

describe('a failure group', () => {
  test('is resolved with a note, and opens again with its next dead letter', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a1', 'b1'])
      const { ask, audit, write, eventually } = world
      const { body } = await ask('GET', `${letters}/groups?q=a1`)
      const url = `${letters}/groups/${body.items[0].group}`
      const change = { body: { state: 'RESOLVED', note: 'fixed in 1.8.2', reason: 'INC-311' } }
      expect((await ask('PATCH', `${url}?dryRun=true`, change)).body).toMatchObject({ state: 'RESOLVED' })
      expect((await ask('GET', url)).body).toMatchObject({ state: 'OPEN', note: null })
      expect((await ask('PATCH', url, change)).body).toMatchObject({
        state: 'RESOLVED',
        note: 'fixed in 1.8.2',
        by: 'ana',
      })
      expect(
        audit.filter(({ operation }) => operation === 'TRIAGE').map(({ outcome, reason }) => [outcome, reason]),
      ).toEqual([
        ['ASKED', 'INC-311'],
        ['DONE', 'INC-311'],
      ])
      await write('orders', ['a2'])
      await eventually(async () => expect((await ask('GET', url)).body).toMatchObject({ state: 'OPEN', count: '2' }))
      expect(await ask('PATCH', `${letters}/groups/none`, { body: { state: 'OPEN' } })).toMatchObject({ status: 404 })
    }))
})
