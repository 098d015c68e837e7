import { describe, expect, test } from 'vitest'
import { BindingNotFoundError } from '../../src/api/connector-errors.ts'
import { answerEntry, answerKey, desiredKey, readEntry, valueOf } from '../../src/fleet/fleet-entry.ts'
import { InstanceFailedError, reportOf } from '../../src/fleet/instance-failed-error.ts'

const target = { cluster: 'default', groupId: 'shipping', binding: 'orders' }

/** Entries as version 1 writes them. They stay readable: change none of them. */
const written = {
  'command/01KD': {
    v: 1,
    id: '01KD',
    target,
    command: {
      type: 'MOVE',
      by: '01KC',
      command: { type: 'SKIP', skip: { partition: 0, offsets: [{ $n: '9007199254740993' }] } },
    },
    operator: { by: 'ana', reason: 'INC-311' },
    awaited: ['01KC'],
    waitMs: 10000,
  },
  'answer/01KD/01KC': {
    v: 1,
    command: '01KD',
    incarnation: '01KC',
    instance: 'shop-1',
    outcome: 'FAILED',
    state: 'STOPPED',
    error: { name: 'StateError', code: 'WAYBILL_STATE_INVALID', message: 'it is stopped' },
  },
  'desired/["default","shipping","orders"]': { v: 1, target, state: 'PAUSED', upTo: '17', by: '01KC' },
  'status/01KC': {
    v: 1,
    instance: 'shop-1',
    incarnation: '01KC',
    version: '2.4.0',
    bindings: [{ target, state: 'PAUSED', pausedBy: ['OPERATOR'], figures: { lag: { $n: '3' } } }],
  },
}

describe('an entry of a fleet', () => {
  test.each(Object.entries(written))('%s is written as it was read', (key, value) => {
    const entry = readEntry({ key, value })
    if (!('value' in entry)) throw new TypeError(`${key} is ${entry.kind}`)
    expect(valueOf(entry.value)).toEqual(value)
  })

  test('keeps 64-bit numbers', () => {
    const entry = readEntry({ key: 'command/01KD', value: written['command/01KD'] })
    expect(entry).toMatchObject({
      value: { command: { command: { skip: { offsets: [9_007_199_254_740_993n] } } } },
    })
  })

  test('of the next version is read, without the members that are not known', () => {
    const value = { ...written['desired/["default","shipping","orders"]'], v: 2, more: true }
    expect(readEntry({ key: desiredKey(target), value })).toMatchObject({ kind: 'DESIRED', value: { state: 'PAUSED' } })
  })

  test.each([
    ['of the version after the next', 'status/a', { v: 3 }],
    ['without members', 'command/a', { v: 1, id: 'a' }],
    ['that is a text', 'desired/a', 'hello'],
    ['of another program', 'other/a', { v: 1 }],
    ['with a list for an object', 'answer/a/b', []],
  ])('%s is passed over', (_, key, value) => {
    expect(readEntry({ key, value }).kind).toBe('UNKNOWN')
  })

  test('has a key of limited length, also for long names', () => {
    const key = desiredKey({ ...target, binding: 'é'.repeat(700) })
    expect(key.length).toBeLessThanOrEqual(600)
    expect(key).not.toBe(desiredKey({ ...target, binding: 'é'.repeat(701) }))
    expect(answerKey('01KD', '01KC')).toBe('answer/01KD/01KC')
  })
})

describe('an error of another instance', () => {
  test('has the name, code and text of the error there', () => {
    const error = new BindingNotFoundError('orders', [])
    const found = new InstanceFailedError('shop-2', reportOf(error))
    expect([found.name, found.code, found.message]).toEqual([error.name, error.code, error.message])
    expect(found).toMatchObject({ instance: 'shop-2', hint: error.hint, impact: error.impact })
  })

  test('has a code of its own where the error there has none', () => {
    const answer = {
      instance: 'shop-2',
      outcome: 'FAILED',
      state: undefined,
      error: new TypeError('no handler'),
    } as const
    const { error } = answerEntry('01KD', '01KC', answer)
    expect(error).toBeDefined()
    if (error !== undefined)
      expect(new InstanceFailedError('shop-2', error)).toMatchObject({
        code: 'WAYBILL_INSTANCE_FAILED',
        message: 'TypeError: no handler',
      })
  })
})
