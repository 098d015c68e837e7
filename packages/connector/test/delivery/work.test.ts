import { expect, test } from 'vitest'
import { workOf } from './work-of.ts'

const failure = { error: new Error('no'), attempts: 3, atMs: 1_000 }

test('a work adds the attempts of every failed delivery to its history, and keeps the time of the first', () => {
  const work = workOf()
  work.failed(failure)
  work.failed({ ...failure, attempts: 2, atMs: 2_000 })
  expect(work.trail).toMatchObject({ totalAttempts: 5, firstFailureMs: 1_000 })
})

test('a work that failed without a call of the handler has not failed', () => {
  const work = workOf()
  work.failed({ ...failure, attempts: 0 })
  expect(work.trail).toMatchObject({ totalAttempts: 0, firstFailureMs: undefined })
})
