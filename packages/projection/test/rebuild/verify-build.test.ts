import type { BuildState, StoredRow } from '@waybill/core/internal'
import { expect, test } from 'vitest'
import { createMemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { projectionFor, tableOf } from '../../src/projector/live-build.ts'
import { verificationStep } from '../../src/rebuild/verification-step.ts'
import { verifyBuild } from '../../src/rebuild/verify-build.ts'
import { balances } from '../test-accounts.ts'
import { history } from '../test-records.ts'
import { hastyRuntime, TestLog } from './test-log.ts'

const [live, built] = [tableOf(balances, 1), tableOf(balances, 2)]
const settings = { rows: 'ALL', expectDifference: undefined, excused: new Set<string>(), hasEveryTopic: true } as const

function rowOf(version: number, balance: string): StoredRow {
  return { key: 'a', version, state: { balance, currency: 'EUR', status: 'OPENED' }, isQuarantined: false }
}

for (const isByPosition of [true, false])
  test(`rows at one version are compared again only if they may have events of other partitions (${isByPosition})`, async () => {
    const store = createMemoryProjectionStore()
    await store.transaction(async (tx) => {
      await tx.write(live, [rowOf(2, '10')])
      await tx.write(built, [rowOf(2, '20')])
    })
    const result = await verifyBuild(
      store,
      live,
      built,
      { ...settings, isByPosition },
      {
        // With the event that the live row has and this one had not.
        builtCatchesUp: () => store.transaction((tx) => tx.write(built, [rowOf(3, '30')])),
        liveCatchesUp: () => Promise.resolve(true),
      },
    )
    expect(result).toMatchObject({ rows: 1, builtRows: 1, ahead: isByPosition ? 1 : 0 })
    expect(result.differences.length).toBe(isByPosition ? 0 : 1)
  })

test('a comparison ends without a verdict when another process has decided about its build', async () => {
  let scans = 0
  const decide = async (state: BuildState): Promise<void> => {
    await store.transaction(async (tx) => {
      await tx.lock(balances.name, 'EXCLUSIVE')
      await tx.setState(built, state)
    })
  }
  const store = createMemoryProjectionStore({
    async pause(step) {
      if (step !== 'scan' || ++scans > 1) return
      await decide('READY')
    },
  })
  const log = new TestLog(1)
  for (const record of await history('a', [1])) log.append(0, record)
  await store.transaction(async (tx) => {
    const { name, revision, fingerprint } = balances
    await tx.lock(name, 'EXCLUSIVE')
    await tx.addBuild({ projection: name, number: 1, revision, fingerprint, state: 'LIVE' })
    await tx.addBuild({ projection: name, number: 2, revision, fingerprint, state: 'VERIFYING' })
    await tx.write(live, [rowOf(3, '3')])
    await tx.write(built, [rowOf(2, '1')])
    // The live table is further on, and nothing moves the new one any more.
    await tx.advance(live, [{ topic: 'accounts', partition: 0, next: 3n }])
    await tx.advance(built, [{ topic: 'accounts', partition: 0, next: 2n }])
  })
  const deps = {
    store,
    projection: balances as never,
    table: built,
    source: log,
    runtime: hastyRuntime(),
    options: { verify: 'ALL', expectDifference: undefined, maxQuarantined: 0, history: undefined },
    knownOf: (build: Parameters<typeof projectionFor>[1]) => projectionFor([balances as never], build),
  } as const
  log.append(0, (await history('a', [1, 2]))[2] as never)
  // Its positions reach the end that the topics have now, after that the live table is ahead.
  log.partitions = async () => [{ topic: 'accounts', partition: 0, start: 0n, end: scans === 0 ? 2n : 3n }]
  expect(await verificationStep(deps, new AbortController().signal)).toBeUndefined()
  expect(scans).toBeGreaterThan(0)
})
