import type { OutRecord } from '@waybill/kafka'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test, vi } from 'vitest'
import { DerivedWrites } from '../../src/partition/derived-writes.ts'
import { PauseSet } from '../../src/partition/pause-set.ts'
import { WorkerScope } from '../../src/partition/worker-scope.ts'
import type { DerivedPublisher } from '../../src/records/derived-publisher.ts'

const record: OutRecord = { topic: 'orders.DLT', key: null, value: null }
const confirmed = { partition: 0, offset: 0n }

function scene(publish: DerivedPublisher['publish'] = () => Promise.resolve(confirmed)) {
  const scope = new WorkerScope()
  const pauses = new PauseSet(() => {})
  const resumed = vi.fn<() => void>()
  const publisher: DerivedPublisher = { trouble: undefined, publish }
  const writes = new DerivedWrites({ publisher, runtime: createVirtualRuntime(1) }, pauses, scope, resumed)
  return { scope, pauses, resumed, writes }
}

test('a record that is confirmed is told so', async () => {
  const { writes } = scene()
  expect(await writes.confirm(record, 'dlt')).toBe(true)
})

test('what the end of the assignment cuts short is given up, not failed', async () => {
  const { writes, scope } = scene(() => {
    scope.end()
    return Promise.reject(new Error('aborted'))
  })
  expect(await writes.confirm(record, 'retry')).toBe(false)
})

test('any other failure is a bug and is told', async () => {
  const { writes } = scene(() => Promise.reject(new Error('a bug')))
  await expect(writes.confirm(record, 'retry')).rejects.toThrow('a bug')
})

test('S0-127 the partition is halted until the last write that failed is confirmed', () => {
  const { writes, pauses, resumed } = scene()
  const [one, other] = [writes.watch(), writes.watch()]
  one.troubled(new Error('no leader'))
  other.troubled(new Error('no replicas'))
  expect([pauses.reasons, writes.trouble]).toEqual([['DEAD_LETTER_FAILURE'], 'no leader'])
  one.recovered()
  expect([pauses.reasons, writes.trouble, resumed.mock.calls.length]).toEqual([
    ['DEAD_LETTER_FAILURE'],
    'no replicas',
    0,
  ])
  other.recovered()
  expect([pauses.reasons, writes.trouble, resumed.mock.calls.length]).toEqual([[], undefined, 1])
})

test('I3 a partition that is owned elsewhere is neither paused nor resumed', () => {
  const { writes, pauses, resumed, scope } = scene()
  const watch = writes.watch()
  scope.end()
  watch.troubled(new Error('no leader'))
  watch.recovered()
  expect([pauses.isPaused, resumed.mock.calls.length]).toEqual([false, 0])
})

test('I3 a write that recovers after the end of its assignment resumes nothing', () => {
  const { writes, pauses, resumed, scope } = scene()
  const watch = writes.watch()
  watch.troubled(new Error('no leader'))
  scope.end()
  watch.recovered()
  expect([pauses.reasons, resumed.mock.calls.length]).toEqual([['DEAD_LETTER_FAILURE'], 0])
})
