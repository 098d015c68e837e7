import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type { Runtime } from '@waybill/core'
import { eventually } from '../../wait/eventually.ts'

/** Ends a wait for something that should have happened long ago, on a machine as slow as there are. */
export const patienceMs = 20_000

/** Asks until the answer is as it should be, and gives it back. */
export function until<T>(
  runtime: Runtime,
  ask: () => T | Promise<T>,
  isSo: (answer: T) => boolean,
  deadlineMs: number = patienceMs,
): Promise<T> {
  return eventually(
    async () => {
      const answer = await ask()
      assert.ok(isSo(answer), `the last answer was ${inspect(answer, { depth: 6, breakLength: 120 })}`)
      return answer
    },
    { deadlineMs, runtime },
  )
}

/** The one there is. */
export function onlyOne<T>(list: readonly T[] | undefined): T {
  assert.equal(list?.length, 1, 'there is exactly one')
  return list?.[0] as T
}
