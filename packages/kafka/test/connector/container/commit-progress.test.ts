import { describe, expect, test } from 'vitest'
import { CommitProgress } from '../../../src/connector/container/commit-progress.ts'

describe('what is acknowledged', () => {
  test('a state that never changed needs no commit', () => {
    expect(new CommitProgress(10).isAcknowledged).toBe(true)
  })

  test('a change is acknowledged with the commit that was sent after it', () => {
    const progress = new CommitProgress(10)
    progress.changed()
    progress.sent()
    expect(progress.isAcknowledged).toBe(false)
    progress.acknowledged(1n)
    expect([progress.isAcknowledged, progress.position]).toEqual([true, 1n])
  })

  test('a change that comes while a commit is under way is not acknowledged by it', () => {
    const progress = new CommitProgress(10)
    progress.changed()
    progress.sent()
    progress.changed()
    progress.acknowledged(1n)
    expect(progress.isAcknowledged).toBe(false)
  })
})

describe('L5 how far records may run ahead', () => {
  test('nothing starts before it is known what was committed', () => {
    expect(new CommitProgress(10).startLimit).toBe(0n)
  })

  test('is counted from what is acknowledged, and moves with it', () => {
    const progress = new CommitProgress(10)
    progress.beginAt(100n)
    expect([progress.startLimit, progress.isUrgent(104n), progress.isUrgent(105n)]).toEqual([110n, false, true])
    progress.acknowledged(105n)
    expect([progress.startLimit, progress.isUrgent(109n), progress.isUrgent(110n)]).toEqual([115n, false, true])
  })
})
