import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { DelayWait } from '../../src/partition/delay-wait.ts'
import type { WorkerDeps } from '../../src/partition/partition-worker.ts'
import { PauseSet } from '../../src/partition/pause-set.ts'

type Place = Pick<WorkerDeps['place'], 'kind'>
type Parallelism = WorkerDeps['binding']['parallelism']

/** Returns a wait and what became of it. */
function waitOf(kind: Place['kind'], parallelism: Parallelism) {
  const runtime = createVirtualRuntime(1)
  const pauses = new PauseSet(() => {})
  const over: (readonly string[])[] = []
  const deps = { place: { kind }, binding: { parallelism }, runtime } as unknown as WorkerDeps
  const wait = new DelayWait(deps, pauses, () => void over.push(pauses.reasons))
  return { runtime, pauses, over, wait }
}

describe('a record that waits for time', () => {
  test.each<[string, Place['kind'], Parallelism, readonly string[]]>([
    ['pauses a tier, where all records behind it are due later', 'TIER', 'KEY', ['DELAY']],
    ['pauses a source that is handled in the order of its partitions', 'SOURCE', 'PARTITION', ['DELAY']],
    ['does not pause a source where records of other keys may continue', 'SOURCE', 'KEY', []],
  ])('%s', (_, kind, parallelism, reasons) => {
    const { runtime, pauses, over, wait } = waitOf(kind, parallelism)
    return runtime.run(async () => {
      wait.until(runtime.clock.monotonic() + 1_000)
      expect([pauses.reasons, over]).toEqual([reasons, []])
      await runtime.timers.sleep(1_001)
      expect([pauses.reasons, over]).toEqual([[], [[]]])
    })
  })

  test('is not waited for once another one is next, or it is due', () => {
    const { runtime, pauses, over, wait } = waitOf('TIER', 'PARTITION')
    return runtime.run(async () => {
      wait.until(runtime.clock.monotonic() + 1_000)
      wait.until(undefined)
      expect(pauses.reasons).toEqual([])
      wait.until(runtime.clock.monotonic() + 1_000)
      wait.until(runtime.clock.monotonic())
      expect(pauses.reasons).toEqual([])
      await runtime.timers.sleep(2_000)
      expect(over).toEqual([])
    })
  })
})
