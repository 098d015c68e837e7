import { expect, test } from 'vitest'
import { adminWorld } from '../support/admin-world.ts'
import { buryLetters } from './bury-letters.ts'

/** Returns the events of a stream. */
function eventsOf(text: string): { readonly event: string; readonly data: Readonly<Record<string, unknown>> }[] {
  return [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, event = '', data = '{}']) => ({
    event,
    data: JSON.parse(data) as Record<string, unknown>,
  }))
}

test('a scan streams its progress, then groups, then its end', () =>
  adminWorld({}, async (world) => {
    await buryLetters(world, ['a1', 'a2', 'b1'])
    const events = eventsOf((await world.ask('GET', '/eventbus/dead-letters/scan')).text)
    expect(events[0]).toEqual({ event: 'progress', data: { read: '0', of: '3', matched: '0' } })
    expect(events.filter(({ event }) => event === 'group').map(({ data }) => data)).toMatchObject([
      { count: '2', exception: 'NonRetryableError', message: { text: 'a# is refused' } },
      { count: '1' },
    ])
    expect(events.at(-1)).toEqual({ event: 'end', data: { read: '3', matched: '3', groups: 2, complete: true } })
  }))

test('a scan searches values, for operators with payloads:read', () =>
  adminWorld({ access: { vic: 'READ_ONLY' } }, async (world) => {
    await buryLetters(world, ['a1', 'b1'])
    const { text } = await world.ask('GET', '/eventbus/dead-letters/scan?q=B1&binding=shipping')
    expect(eventsOf(text).at(-1)?.data).toMatchObject({ matched: '1' })
    expect(await world.ask('GET', '/eventbus/dead-letters/scan?q=b1', { by: 'vic' })).toMatchObject({ status: 403 })
    const hidden = await world.ask('GET', '/eventbus/dead-letters/scan', { by: 'vic' })
    expect(hidden.text).not.toContain('is refused')
  }))
