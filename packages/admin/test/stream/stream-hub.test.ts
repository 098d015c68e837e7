import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { Grants } from '../../src/access/access.ts'
import { StreamHub, type StreamItem, type StreamRequest, type StreamSource } from '../../src/stream/stream-hub.ts'

interface Scene {
  readonly hub: StreamHub
  readonly items: StreamItem[]
  readonly open: (given?: Partial<StreamRequest>) => Promise<AsyncIterator<string>>
  readonly sleep: (ms: number) => Promise<void>
}

async function scene(
  program: (scene: Scene) => Promise<void>,
  more: Partial<StreamSource> & { readonly failing?: StreamSource } = {},
): Promise<void> {
  const runtime = createVirtualRuntime(1)
  await runtime.run(async () => {
    const items: StreamItem[] = []
    const { failing, ...own } = more
    const hub = new StreamHub(runtime, [
      ...(failing === undefined ? [] : [failing]),
      {
        kind: 'binding',
        topic: 'bindings',
        permission: 'bindings:read',
        read: async () => items.map((item) => ({ ...item })),
        ...own,
      },
    ])
    const open: Scene['open'] = async (given = {}) => {
      const request = {
        by: 'ana',
        grants: new Grants('ALL'),
        topics: ['bindings'],
        lastEventId: undefined,
        leave: new AbortController().signal,
      }
      return (await hub.open({ ...request, ...given }))[Symbol.asyncIterator]()
    }
    await program({ hub, items, open, sleep: (ms) => runtime.timers.sleep(ms) })
    hub.close()
  })
}

const binding = (key: string, state: string): StreamItem => ({ key, subject: key, data: { state } })

/** Reads what waits. */
async function read(stream: AsyncIterator<string>): Promise<string> {
  const { value, done } = await stream.next()
  return done === true ? 'END' : value
}

describe('a stream', () => {
  test('begins with a snapshot and continues with what changed', () =>
    scene(async ({ items, open, sleep }) => {
      items.push(binding('mail', 'RUNNING'), binding('shipping', 'RUNNING'))
      const stream = await open()
      expect(await read(stream)).toMatch(
        /^retry: 3000\n\nid: 2\nevent: snapshot\ndata: \{"binding":\[\{"key":"mail","state":"RUNNING"\},/,
      )
      items[0] = binding('mail', 'PAUSED')
      await sleep(1_000)
      expect(await read(stream)).toContain('id: 3\nevent: binding\ndata: {"key":"mail","state":"PAUSED"}\n\n')
      items.pop()
      await sleep(1_000)
      expect(await read(stream)).toContain('data: {"key":"shipping","gone":true}')
    }))

  test('says nothing of an item that leaves the newest part of a longer list', () =>
    scene(
      async ({ items, open, sleep }) => {
        items.push(binding('a', 'RUNNING'), binding('b', 'RUNNING'))
        const stream = await open()
        await read(stream)
        items.shift()
        items.push(binding('c', 'RUNNING'))
        await sleep(1_000)
        const text = await read(stream)
        expect(text).toContain('data: {"key":"c","state":"RUNNING"}')
        expect(text).not.toContain('gone')
      },
      { isWindow: true },
    ))

  test('continues with its other parts while one cannot be read', () =>
    scene(
      async ({ items, open, sleep }) => {
        const stream = await open({ topics: ['bindings', 'operations'] })
        expect(await read(stream)).toContain('data: {"operation":[],"binding":[]}')
        items.push(binding('a', 'RUNNING'))
        await sleep(1_000)
        expect(await read(stream)).toContain('"key":"a"')
      },
      {
        failing: {
          kind: 'operation',
          topic: 'operations',
          permission: 'operations:read',
          read: () => Promise.reject(new Error('the database is away')),
        },
      },
    ))

  test('shows a reader only what its permissions allow', () =>
    scene(async ({ items, open, sleep }) => {
      items.push(binding('mail', 'RUNNING'), binding('shipping', 'RUNNING'))
      const stream = await open({ grants: new Grants({ 'bindings:read': ['mail'] }) })
      expect(await read(stream)).not.toContain('shipping')
      items[0] = binding('mail', 'PAUSED')
      items[1] = binding('shipping', 'PAUSED')
      await sleep(1_000)
      const text = await read(stream)
      expect(text).toContain('mail')
      expect(text).not.toContain('shipping')
    }))

  test('resumes after the last event that its reader has, and begins anew if that is too long ago', () =>
    scene(async ({ items, open, sleep }) => {
      items.push(binding('mail', 'RUNNING'))
      await open()
      items[0] = binding('mail', 'PAUSED')
      await sleep(1_000)
      const resumed = await read(await open({ lastEventId: '1' }))
      expect(resumed).toContain('id: 2\nevent: binding')
      expect(resumed).not.toContain('snapshot')
      for (const lastEventId of ['99', 'x', '-1'])
        expect(await read(await open({ lastEventId, by: lastEventId }))).toContain('snapshot')
    }))

  test('sends heartbeats, and ends after an hour', () =>
    scene(async ({ open, sleep }) => {
      const stream = await open()
      await read(stream)
      await sleep(16_000)
      expect(await read(stream)).toContain('event: heartbeat')
      await sleep(3_600_000)
      while ((await read(stream)) !== 'END');
    }))

  test('tells a reader that does not read that it lags, and ends', () =>
    scene(async ({ items, open, sleep }) => {
      const stream = await open()
      for (let at = 0; at < 400; at++) {
        items[0] = binding('mail', `${at} ${'x'.repeat(1_000)}`)
        await sleep(1_000)
      }
      expect(await read(stream)).toBe('event: lagging\ndata: {}\n\n')
      expect(await read(stream)).toBe('END')
    }))

  test('is refused beyond five of an operator and fifty in all', () =>
    scene(async ({ open }) => {
      for (let at = 0; at < 5; at++) await open()
      await expect(open()).rejects.toThrow('too many streams')
      for (let at = 0; at < 45; at++) await open({ by: `operator ${at}` })
      await expect(open({ by: 'one more' })).rejects.toThrow('too many streams')
    }))

  test('that its reader leaves makes room for another', () =>
    scene(async ({ open, sleep }) => {
      const leave = new AbortController()
      const streams = await Promise.all(Array.from({ length: 5 }, () => open({ leave: leave.signal })))
      leave.abort()
      await Promise.all(
        streams.map(async (stream) => {
          while ((await read(stream)) !== 'END');
        }),
      )
      await sleep(1)
      await open()
    }))
})
