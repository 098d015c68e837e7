import { setImmediate } from 'node:timers/promises'
import { takeRejection } from '@waybill/core/internal'
import { expect, test } from 'vitest'

test('what a refused promise rejects with ends no process', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  takeRejection(Promise.reject(new Error('late')))
  await setImmediate()
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

test('what is no promise is left alone, also when it can be waited for', () => {
  let calls = 0
  const lazy = {} // Like a query that starts when its `then` is called.
  Reflect.set(lazy, ['th', 'en'].join(''), () => calls++)
  for (const answer of [undefined, null, 1, 'text', {}, lazy]) takeRejection(answer)
  expect(calls).toBe(0)
})
