import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type { Runtime } from '@waybill/core'
import { eventually } from '../../wait/eventually.ts'

/** Deadline of a wait, long enough for a slow machine. */
export const patienceMs = 20_000

/** Retries until the answer satisfies the condition, and returns it. */
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

/** Returns the only element of a list. */
export function onlyOne<T>(list: readonly T[] | undefined): T {
  assert.equal(list?.length, 1, 'there is exactly one')
  return list?.[0] as T
}
