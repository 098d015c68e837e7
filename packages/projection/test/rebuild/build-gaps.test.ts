import type { BuildState } from '@waybill/core/internal'
import { expect, test } from 'vitest'
import { createMemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { tableOf } from '../../src/projector/live-build.ts'
import { GapSearch, keysBehind } from '../../src/rebuild/build-gaps.ts'
import { balances } from '../test-accounts.ts'
import { history } from '../test-records.ts'

const table = tableOf(balances, 1)

for (const [state, left] of [
  ['VERIFYING', 0],
  ['CANCELLED', 1],
] as const satisfies readonly (readonly [BuildState, number])[])
  test(`gaps of a build are closed while it is verified only: ${state}`, async () => {
    const store = createMemoryProjectionStore()
    await store.transaction(async (tx) => {
      const { name, revision, fingerprint } = balances
      await tx.lock(name, 'EXCLUSIVE')
      await tx.addBuild({ projection: name, number: 1, revision, fingerprint, state })
      await tx.quarantine(table, { key: 'a', reason: 'GAP', expected: 1, found: 2 })
    })
    const behind = await keysBehind(store, undefined, table)
    expect(behind.map(({ entry }) => entry.key)).toEqual(['a'])
    const records = (await history('a', [1])).toReversed()
    const unread = async function* () {
      yield* records
    }
    const deps = { store, projection: balances as never, table, unread }
    await new GapSearch(deps, behind).close(new AbortController().signal)
    expect(await store.countQuarantined(table)).toBe(left)
  })
