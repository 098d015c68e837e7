import { StateError } from '@waybill/core'
import { expect, test } from 'vitest'
import type { ControlCommand, ControlRequest, InstanceAnswer } from '../../../src/connector/control/control.ts'
import { createLocalControl } from '../../../src/connector/control/local-control.ts'

const target = { cluster: 'default', groupId: 'shipping', binding: 'orders' }

function requestOf(command: ControlCommand): ControlRequest {
  return { target, command, operator: { by: 'alice' } }
}

function joined(answer: Partial<InstanceAnswer> = {}): {
  readonly control: ReturnType<typeof createLocalControl>
  readonly seen: string[]
} {
  const control = createLocalControl()
  const seen: string[] = []
  control.join({
    name: 'host-1',
    async apply({ command, operator }) {
      seen.push(`${operator.by} ${command.type}`)
      return { instance: 'host-1', outcome: 'APPLIED', state: 'RUNNING', ...answer }
    },
    statuses: () => [{ instance: 'host-1', target, state: 'RUNNING', pausedBy: [] }],
  })
  return { control, seen }
}

test('D23 an answer says that it is of this process alone', async () => {
  const { control, seen } = joined()
  expect(await control.submit(requestOf({ type: 'PAUSE' }))).toEqual({
    scope: 'INSTANCE',
    instances: [{ instance: 'host-1', outcome: 'APPLIED', state: 'RUNNING' }],
  })
  expect(seen).toEqual(['alice PAUSE'])
  expect(await control.statuses()).toMatchObject([{ instance: 'host-1', state: 'RUNNING' }])
})

test.each([
  ['PAUSE', 'PAUSED'],
  ['RESUME', 'RUNNING'],
  ['START', 'RUNNING'],
  ['STOP', 'STOPPED'],
  ['DESTROY', undefined],
  ['UNREGISTER', undefined],
] as const)('%s leaves %s desired', async (type, state) => {
  const { control } = joined()
  await control.submit(requestOf({ type: 'START' }))
  await control.submit(requestOf({ type }))
  expect(await control.desired(target)).toBe(state)
})

test('a position that is moved changes nothing of what is desired', async () => {
  const { control } = joined()
  await control.submit(requestOf({ type: 'STOP' }))
  await control.submit(requestOf({ type: 'SEEK', seek: { to: 'EARLIEST' } }))
  expect(await control.desired(target)).toBe('STOPPED')
})

test('what was refused is not desired, and what is desired of one group is not of another', async () => {
  const { control } = joined({ outcome: 'FAILED', error: new Error('refused') })
  await control.submit(requestOf({ type: 'PAUSE' }))
  expect(await control.desired(target)).toBeUndefined()
  const other = joined().control
  await other.submit(requestOf({ type: 'PAUSE' }))
  expect(await other.desired({ ...target, groupId: 'billing' })).toBeUndefined()
})

test.each([
  ['STOP', 'STOPPED', 'STOPPED'],
  ['DESTROY', undefined, undefined],
] as const)('%s that failed at its deadline has come about, and is what is desired', async (type, state, desired) => {
  const { control } = joined({ outcome: 'FAILED', state, error: new Error('a handler does not end') })
  await control.submit(requestOf({ type }))
  expect(await control.desired(target)).toBe(desired)
})

test('one process joins once, and another one may when it has left', () => {
  const control = createLocalControl()
  const instance = { name: 'a', apply: () => Promise.reject(new Error('unused')), statuses: () => [] }
  const place = control.join(instance)
  expect(() => control.join(instance)).toThrow(StateError)
  place[Symbol.dispose]()
  expect(() => control.join(instance)).not.toThrow()
})
