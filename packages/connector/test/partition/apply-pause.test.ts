import { expect, test, vi } from 'vitest'
import type { Outcome } from '../../src/delivery/outcome.ts'
import { applyPause } from '../../src/partition/apply-pause.ts'
import type { WorkerDeps } from '../../src/partition/partition-worker.ts'
import { PauseSet } from '../../src/partition/pause-set.ts'
import { workOf } from '../delivery/work-of.ts'

type Pause = Extract<Outcome, { kind: 'PAUSE' }>

const failure = { error: new Error('no'), attempts: 1, atMs: 0 }
const blocked: Pause = { kind: 'PAUSE', cause: 'BLOCKED', failure }
const exhausted = (scope: 'PARTITION' | 'BINDING'): Pause => ({ kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope })

function scene(isRefusing = true) {
  const pauses = new PauseSet(() => {})
  const pauseBinding = vi.fn<() => void>()
  const work = workOf()
  const deps = {
    binding: { blockingBackoff: { initialMs: 100, multiplier: 2, maxMs: 10_000, jitterExceedsMax: false } },
    runtime: { clock: { monotonic: () => 5_000 }, random: () => 0.5 },
    delivery: { isRefusing },
    pauseBinding,
  } as unknown as WorkerDeps
  return { work, pauses, pauseBinding, apply: (outcome: Pause) => applyPause(work, outcome, pauses, deps) }
}

test('a delivery that was cancelled halts nothing', () => {
  const { apply, pauses } = scene()
  expect(apply({ kind: 'PAUSE', cause: 'CANCELLED', failure: undefined })).toBeUndefined()
  expect(pauses.reasons).toEqual([])
})

test.each([
  ['halts while it refuses calls', true, ['BREAKER']],
  ['halts nothing when it lets calls through again by now', false, []],
])('an open circuit %s', (_, isRefusing, reasons) => {
  const { apply, pauses } = scene(isRefusing)
  expect(apply({ kind: 'PAUSE', cause: 'BREAKER', failure })).toBeUndefined()
  expect(pauses.reasons).toEqual(reasons)
})

test.each([
  ['PARTITION', 0],
  ['BINDING', 1],
] as const)(
  'a record that waits for an operator halts its partition, and with the scope %s the binding',
  (scope, calls) => {
    const { apply, pauses, pauseBinding } = scene()
    expect(apply(exhausted(scope))).toBeUndefined()
    expect(pauses.reasons).toEqual(['EXHAUSTED'])
    expect(pauseBinding).toHaveBeenCalledTimes(calls)
  },
)

test('a blocked record is due later each time, and halts nothing', () => {
  const { apply, pauses } = scene()
  expect([apply(blocked), apply(blocked)]).toEqual([5_100, 5_200])
  expect(pauses.reasons).toEqual([])
})

test('C-04: a record that is delivered again tells of all its calls, and of its first failure', () => {
  const { apply, work } = scene()
  apply({ ...blocked, failure: { ...failure, attempts: 2, atMs: 100 } })
  apply({ ...blocked, failure: { ...failure, attempts: 3, atMs: 200 } })
  expect(work.trail).toMatchObject({ totalAttempts: 5, firstFailureMs: 100 })
})

test('C-04: a record whose handler was not called has not failed', () => {
  const { apply, work } = scene()
  apply({ kind: 'PAUSE', cause: 'BREAKER', failure: { ...failure, attempts: 0, atMs: 100 } })
  expect(work.trail).toMatchObject({ totalAttempts: 0, firstFailureMs: undefined })
})
