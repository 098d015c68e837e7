import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { WorkerScope } from '../../src/partition/worker-scope.ts'

function scene() {
  const runtime = createVirtualRuntime(1)
  const scope = new WorkerScope()
  return { runtime, scope, aborted: () => [scope.retrying.aborted, scope.handling.aborted] }
}

test('S0-154 draining ends retries at once and lets handlers go on', () => {
  const { scope, aborted } = scene()
  expect([scope.isRunning, scope.isEnded, ...aborted()]).toEqual([true, false, false, false])
  scope.beginDraining()
  expect([scope.isRunning, scope.isEnded, ...aborted()]).toEqual([false, false, true, false])
})

test('I15 a pause by an operator ends retries until the resume, and starts none while a reason is left', () => {
  const reasons = new Set<string>()
  const scope = new WorkerScope(() => reasons.size > 0)
  const states = (): unknown[] => [scope.mayStart(), scope.retrying.aborted, scope.handling.aborted]
  expect(states()).toEqual([true, false, false])
  reasons.add('OPERATOR').add('EXHAUSTED')
  scope.pause()
  expect(states()).toEqual([false, true, false])
  reasons.delete('OPERATOR')
  scope.resume()
  expect(states()).toEqual([false, false, false])
  reasons.clear()
  expect(states()).toEqual([true, false, false])
})

test('I15 a resume without a pause keeps the signal: calls that hold it see the next pause and the end', () => {
  const { scope } = scene()
  const held = scope.retrying
  scope.resume()
  expect(scope.retrying).toBe(held)
  scope.pause()
  expect(held.aborted).toBe(true)
  scope.resume()
  expect([scope.retrying.aborted, held.aborted]).toEqual([false, true])
})

test('a resume while it drains brings no retry back', () => {
  const { scope } = scene()
  scope.pause()
  scope.beginDraining()
  scope.resume()
  expect([scope.mayStart(), scope.retrying.aborted]).toEqual([false, true])
})

test('resolves at once when nothing runs, and sets no timer', async () => {
  const { runtime, scope } = scene()
  await scope.drained(runtime.timers, 1_000, () => true)
  expect(runtime.pending).toBe(0)
})

test('resolves as soon as the last one has ended, and leaves no timer behind', async () => {
  const { runtime, scope, aborted } = scene()
  let running = 2
  let isDrained = false
  scope.beginDraining()
  const drain = async (): Promise<void> => {
    await scope.drained(runtime.timers, 1_000, () => running === 0)
    isDrained = true
  }
  const drained = drain()
  running--
  scope.look()
  await runtime.advance(0)
  expect(isDrained).toBe(false)
  running--
  scope.look()
  await drained
  expect([runtime.pending, ...aborted()]).toEqual([0, true, false])
})

test('aborts handlers at the deadline with a reason, and resolves though they ignore it', async () => {
  const { runtime, scope } = scene()
  scope.beginDraining()
  const drained = scope.drained(runtime.timers, 1_000, () => false)
  await runtime.advance(1_000)
  await drained
  expect(scope.handling.reason).toMatchObject({ message: expect.stringContaining('deadline has passed') })
  expect(scope.isEnded).toBe(false)
})

test('I3 an end during the drain resolves it: there is nothing left to wait for', async () => {
  const { runtime, scope } = scene()
  scope.beginDraining()
  const drained = scope.drained(runtime.timers, 1_000, () => false)
  scope.end()
  await drained
  expect([scope.isEnded, runtime.pending]).toEqual([true, 0])
  expect(scope.handling.reason).toMatchObject({ message: expect.stringContaining('partition is lost') })
})

test('draining after an end does not bring it back', () => {
  const { scope } = scene()
  scope.end()
  scope.beginDraining()
  expect([scope.isRunning, scope.isEnded]).toEqual([false, true])
})
