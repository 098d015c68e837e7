import { systemRuntime } from '@waybill/core'
import { expect, test } from 'vitest'
import { type AdminWorld, adminWorld } from '../support/admin-world.ts'
import { sqliteOutbox } from '../support/sqlite-outbox.ts'

interface Followed {
  /** Returns what was sent since the last call, once it has a text. */
  readonly until: (text: string) => Promise<string>
  readonly status: number
}

async function follow({ admin, runtime }: AdminWorld, by: string, topics: string): Promise<Followed> {
  const leave = new AbortController()
  const request = {
    method: 'GET',
    url: `/eventbus/stream?topics=${topics}`,
    remoteAddress: '10.0.0.9',
    headers: { authorization: `Bearer ${by}` },
  }
  const { status, body } = await admin.handle(request, undefined, leave.signal)
  let sent = ''
  const chunks = (body as AsyncIterable<string>)[Symbol.asyncIterator]()
  return {
    status,
    async until(text) {
      for (let tries = 0; !sent.includes(text) && tries < 60; tries++) {
        await runtime.timers.sleep(1_000)
        const next = await chunks.next()
        sent += next.done === true ? '' : next.value
      }
      expect(sent).toContain(text)
      const found = sent
      sent = ''
      return found
    },
  }
}

test('the stream shows operations, bindings, health and the audit log as they change', () =>
  adminWorld({}, async (world) => {
    const { ask, connector } = world
    await connector.start()
    const stream = await follow(world, 'ana', 'overview,bindings,operations,audit')
    const snapshot = await stream.until('event: snapshot')
    for (const kind of ['"binding":[', '"health":[', '"operation":[]', '"audit":[]']) expect(snapshot).toContain(kind)
    await ask('POST', '/eventbus/bindings/mail/pause', { body: { reason: 'INC-1' } })
    const paused = await stream.until('"state":"PAUSED"')
    expect(paused).toContain('event: binding')
    const { body } = await ask('POST', '/eventbus/operations', {
      body: { type: 'REPLAY', binding: 'shipping', filter: { key: 'secret' } },
    })
    const changes = await stream.until('"state":"DONE"')
    expect(changes).toContain(`"key":"${body.id}"`)
    // What a filter looks for is a payload.
    expect(changes).not.toContain('secret')
    expect(paused + changes).toContain('"operation":"PAUSE"')
  }))

test('the stream hides what its reader may not read', () =>
  adminWorld({ access: { ben: { 'bindings:read': ['mail'], 'operations:read': ['mail'] } } }, async (world) => {
    const { ask, connector } = world
    await connector.start()
    const stream = await follow(world, 'ben', 'bindings,operations,audit')
    await ask('POST', '/eventbus/operations?dryRun=true', { body: { type: 'REPLAY', binding: 'shipping', filter: {} } })
    await ask('POST', '/eventbus/bindings/shipping/pause')
    await ask('POST', '/eventbus/bindings/mail/pause')
    const text = await stream.until('"state":"PAUSED"')
    expect(text).toContain('mail')
    expect(text).not.toMatch(/shipping|event: audit|event: operation/)
  }))

test('the stream shows failure groups without payloads, and outboxes', async () => {
  using rows = await sqliteOutbox([], systemRuntime)
  await rows.write('DEAD')
  const admin = { outboxes: { orders: rows.outbox } }
  const access = { vic: { 'dlt:read': ['shipping'], 'outbox:read': ['mails'] } } as const
  await adminWorld({ admin, access }, async (world) => {
    const stream = await follow(world, 'ana', 'groups,overview')
    expect(await stream.until('event: snapshot')).toContain('"outbox":[{"key":"orders","outbox":"orders"')
    const limited = await follow(world, 'vic', 'groups,overview')
    expect(await limited.until('event: snapshot')).toContain('"group":[],"outbox":[]')
    await world.connector.start()
    await world.write('orders', ['a1', 'a2'])
    const sent = await stream.until('event: group')
    expect(sent).toMatch(/"exception":"NonRetryableError","message":\{"hidden":true,"bytes":\d+\}/)
    expect(await limited.until('event: heartbeat')).not.toContain('NonRetryableError')
  })
})
