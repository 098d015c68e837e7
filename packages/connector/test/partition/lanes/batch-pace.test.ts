import { describe, expect, test } from 'vitest'
import { BatchPace } from '../../../src/partition/lanes/batch-pace.ts'

describe('a batch', () => {
  test('takes as many records as there were when it began, and is settled when the last of them is', () => {
    const pace = new BatchPace(100)
    pace.begin(2, 5)
    pace.started()
    expect([pace.startedAt, pace.isClosed]).toEqual([5, false])
    pace.started()
    expect([pace.startedAt, pace.isClosed, pace.isSettled]).toEqual([5, true, false])
    pace.ended()
    expect(pace.isSettled).toBe(false)
    pace.ended()
    expect(pace.isSettled).toBe(true)
  })

  test('S0-089 is overdue when it took longer than it may, and another begins with a time of its own', () => {
    const pace = new BatchPace(100)
    pace.begin(3, 1_000)
    pace.started()
    expect([pace.isOverdue(1_100), pace.isOverdue(1_101)]).toEqual([false, true])
    pace.close()
    expect(pace.isOverdue(9_999)).toBe(false)
    pace.ended()
    expect(pace.isIdle).toBe(false)
    pace.reset()
    expect(pace.isIdle).toBe(true)
    pace.begin(1, 2_000)
    expect(pace.startedAt).toBe(2_000)
  })

  test('whose records start all at once takes no more, and is settled when the last of them is', () => {
    const pace = new BatchPace(100)
    pace.startedAll(3, 5)
    expect([pace.startedAt, pace.isClosed, pace.isSettled, pace.isOverdue(9_999)]).toEqual([5, true, false, false])
    pace.ended(2)
    expect(pace.isSettled).toBe(false)
    pace.ended()
    expect(pace.isSettled).toBe(true)
  })

  test('that did not begin is not closed by a pause', () => {
    const pace = new BatchPace(100)
    pace.close()
    expect(pace.isClosed).toBe(false)
  })
})
