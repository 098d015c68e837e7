import { describe, expect, test } from 'vitest'
import { CommitProgress } from '../../src/partition/commit-progress.ts'

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

  test('a commit of before counting began anew acknowledges nothing, and the next one is still due', () => {
    const progress = new CommitProgress(10)
    progress.beginAt(100n)
    progress.changed()
    progress.sent()
    progress.beginAt(3n)
    expect(progress.acknowledged(101n)).toBe(false)
    expect([progress.isAcknowledged, progress.position, progress.startLimit]).toEqual([false, 3n, 13n])
    progress.sent()
    expect(progress.acknowledged(3n)).toBe(true)
    expect(progress.isAcknowledged).toBe(true)
  })
})

describe('L5 how far records may run ahead', () => {
  test('nothing starts before it is known what was committed', () => {
    expect(new CommitProgress(10).startLimit).toBe(0n)
  })

  test('is counted from what is acknowledged, and moves with it', () => {
    const progress = new CommitProgress(10)
    progress.beginAt(100n)
    expect([progress.startLimit, progress.urgentFrom]).toEqual([110n, 105n])
    progress.sent()
    progress.acknowledged(105n)
    expect([progress.startLimit, progress.urgentFrom]).toEqual([115n, 110n])
  })
})
