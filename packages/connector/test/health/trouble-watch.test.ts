import { describe, expect, test } from 'vitest'
import type { ContainerStatus, MemberStatus } from '../../src/api/binding-view.ts'
import { type Trouble, TroubleWatch, troublesOf } from '../../src/health/trouble-watch.ts'

const well: MemberStatus = {
  index: 0,
  instanceId: undefined,
  state: 'RUNNING',
  failure: undefined,
  hasPlace: true,
  partitions: [],
  unread: [],
  unreadable: [],
}

function found(member: Partial<MemberStatus>, missing: readonly string[] = []): readonly Trouble[] {
  const place = {
    name: 'eventbus-a',
    topic: 'orders',
    groupId: 'g',
    kind: 'SOURCE',
    tier: 0,
    delayMs: 0,
    concurrency: 1,
  }
  const container = { place, pausedBy: [], members: [{ ...well, ...member }] } as ContainerStatus
  return troublesOf({ name: 'a', containers: [container], isMissing: (topic) => missing.includes(topic) }, 60_000)
}

describe('a binding is in trouble', () => {
  test('not while its members are in their groups and read their partitions', () => {
    expect(found({})).toEqual([])
  })

  test.each<[string, Partial<MemberStatus>, readonly string[], number, RegExp]>([
    ['a member cannot join', { hasPlace: false }, [], 60_000, /member 0 of eventbus-a cannot join group g/],
    ['a topic is missing', {}, ['orders'], 0, /topic orders no longer exists/],
    [
      'a partition is not read',
      { unread: [{ topic: 'orders', partition: 3, why: 'refused.' }] },
      [],
      30_000,
      /orders-3: owned by member 0 of eventbus-a, not read: refused\./,
    ],
  ])('when %s', (_, member, missing, patienceMs, what) => {
    expect(found(member, missing)).toEqual([
      expect.objectContaining({ patienceMs, binding: 'a', what: expect.stringMatching(what) }),
    ])
  })

  test('not when its member failed, which health reports by itself', () => {
    expect(found({ state: 'FAILED', hasPlace: false })).toEqual([])
  })
})

describe('a trouble', () => {
  const trouble: Trouble = { key: 'k', binding: 'a', what: 'w', hint: 'n', patienceMs: 1_000 }

  test('counts once it has lasted for its whole patience without an interruption', () => {
    const watch = new TroubleWatch()
    expect(watch.check([trouble], 0)).toEqual([])
    expect(watch.check([trouble], 999)).toEqual([])
    expect(watch.check([trouble], 1_000)).toEqual([{ ...trouble, sinceMs: 0 }])
    expect(watch.check([], 1_500)).toEqual([])
    expect(watch.check([trouble], 2_000)).toEqual([])
    expect(watch.check([trouble], 3_000)).toEqual([{ ...trouble, sinceMs: 2_000 }])
  })

  test('without patience counts at once', () => {
    expect(new TroubleWatch().check([{ ...trouble, patienceMs: 0 }], 5)).toHaveLength(1)
  })
})
