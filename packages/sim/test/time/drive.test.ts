import { describe, expect, test } from 'vitest'
import { drive } from '../../src/time/drive.ts'

/** Settles after that many turns of the microtask queue, or of the nextTick queue. */
async function settleAfter(turns: number, turn: () => Promise<void>, then: () => void): Promise<void> {
  for (let left = turns; left > 0; left--) await turn()
  then()
}

const ticks: Record<string, () => Promise<void>> = {
  promises: () => Promise.resolve(),
  'process.nextTick': () => new Promise((resolve) => process.nextTick(resolve)),
  queueMicrotask: () => new Promise((resolve) => queueMicrotask(resolve)),
}

describe('drive', () => {
  test.each(Object.keys(ticks))('settles chains of %s, however long, before each step', async (kind) => {
    const turn = ticks[kind] as () => Promise<void>
    const stepCount = 300
    let steps = 0
    let settled = 0
    await drive(() => {
      expect(settled).toBe(steps)
      if (steps === stepCount) return false
      steps++
      void settleAfter(steps, turn, () => settled++)
      return true
    })
    expect(settled).toBe(stepCount)
  })

  test('settles what was waiting before the first step', async () => {
    let isSettled = false
    void settleAfter(
      50,
      () => Promise.resolve(),
      () => {
        isSettled = true
      },
    )
    await drive(() => {
      expect(isSettled).toBe(true)
      return false
    })
  })

  test('rejects with what a step throws and calls no further step', async () => {
    let steps = 0
    const driven = drive(() => {
      steps++
      if (steps === 100) throw new RangeError('enough')
      return true
    })
    await expect(driven).rejects.toThrow('enough')
    await drive(() => false)
    expect(steps).toBe(100)
  })

  test('runs two drives side by side', async () => {
    const counts = [0, 0]
    await Promise.all(counts.map((_, index) => drive(() => ++counts[index]! < 200 * (index + 1))))
    expect(counts).toEqual([200, 400])
  })
})
