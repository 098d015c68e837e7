import { setImmediate } from 'node:timers/promises'
import { takeRejection } from '@waybill/core/internal'
import { expect, test } from 'vitest'

test('the rejection of a refused promise does not end the process', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  takeRejection(Promise.reject(new Error('late')))
  await setImmediate()
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

test('a value that is no promise is left alone, even a thenable', () => {
  let calls = 0
  const lazy = {} // Like a query that starts when its `then` is called.
  Reflect.set(lazy, ['th', 'en'].join(''), () => calls++)
  for (const answer of [undefined, null, 1, 'text', {}, lazy]) takeRejection(answer)
  expect(calls).toBe(0)
})
