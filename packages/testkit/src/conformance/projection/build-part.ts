import assert from 'node:assert/strict'
import type { BuildTable } from '@waybill/core/internal'
import { balanceRow, type ProjectionScene, type ProjectionSuite } from './projection-scene.ts'

/** Adds a second build beside the live one. */
async function addSecond(scene: ProjectionScene, columns?: BuildTable['columns']): Promise<BuildTable> {
  const table = scene.table(columns, columns === undefined ? 2 : 4)
  await scene.store.createTable(table)
  await scene.store.transaction(async (tx) => {
    await tx.lock('account', 'EXCLUSIVE')
    const build = {
      projection: 'account',
      number: table.number,
      revision: 2,
      fingerprint: 'g',
      state: 'CATCHING_UP',
    } as const
    await tx.addBuild(build)
  })
  return table
}

/** Tests of builds. */
export function buildPart({ describe, test, testWith }: ProjectionSuite): void {
  describe('a build', () => {
    test('has a state that commits with the rest', async (scene) => {
      await scene.open()
      await addSecond(scene)
      await scene.store.transaction(async (tx) => {
        const builds = await tx.lock('account', 'EXCLUSIVE')
        assert.deepEqual(
          builds.map(({ number, state }) => [number, state]),
          [
            [1, 'LIVE'],
            [2, 'CATCHING_UP'],
          ],
        )
        await tx.setState({ projection: 'account', number: 2 }, 'FAILED', 'an event is missing')
      })
      const [, second] = await scene.other.builds('account')
      assert.ok(second !== undefined && second.changedAt > 0)
      assert.deepEqual(
        { ...second, changedAt: 0 },
        {
          projection: 'account',
          number: 2,
          revision: 2,
          fingerprint: 'g',
          state: 'FAILED',
          reason: 'an event is missing',
          changedAt: 0,
        },
      )
    })

    test('of another projection is another one', async (scene) => {
      await scene.open()
      assert.deepEqual(await scene.store.builds('accounts'), [])
      assert.deepEqual(await scene.store.transaction((tx) => tx.lock('accounts', 'SHARED')), [])
    })

    test('has an index for each column that has one, however long their names are', async (scene) => {
      const indexed = { type: 'integer', isIndexed: true } as const
      const table = scene.table({ reserved_amount_in_cents: indexed, reserved_amount_in_euros: indexed }, 6)
      await scene.open(table)
      const row = { key: 'a', version: 1, state: { reserved_amount_in_cents: 100, reserved_amount_in_euros: 1 } }
      await scene.write(table, [{ ...row, isQuarantined: false }])
      assert.deepEqual(await scene.store.read(table, ['a']), [{ ...row, isQuarantined: false }])
    })

    test('is created and dropped any number of times', async (scene) => {
      const table = await scene.open()
      await scene.store.createTable(table)
      await scene.write(table, [balanceRow('a', 1, '1')])
      await scene.store.transaction((tx) => tx.advance(table, [{ topic: 't', partition: 0, next: 1n }]))
      await scene.store.transaction((tx) => tx.quarantine(table, { key: 'b', reason: 'GAP', expected: 1, found: 2 }))
      await scene.store.dropTable(table)
      await scene.store.dropTable(table)
      assert.deepEqual(await scene.store.positions(table), [])
      assert.equal(await scene.store.countQuarantined(table), 0)
      await scene.store.createTable(table)
      assert.deepEqual(await scene.store.scan(table, null, 10), [])
    })

    test('is changed only when no transaction shares it, and shared only when none changes it', async (scene) => {
      const table = await scene.open()
      const seen: string[] = []
      const sharing = scene.store.transaction(async (tx) => {
        await tx.lock('account', 'SHARED')
        seen.push('shared')
        await tx.write(table, [balanceRow('a', 1, '1')])
        await scene.subject.runtime.timers.sleep(30)
        seen.push('written')
      })
      await scene.subject.runtime.timers.sleep(10)
      await Promise.all([
        sharing,
        scene.other.transaction(async (tx) => {
          await tx.lock('account', 'EXCLUSIVE')
          seen.push('exclusive')
          await tx.setState(table, 'RETIRED')
        }),
      ])
      assert.deepEqual(seen, ['shared', 'written', 'exclusive'])
      const builds = await scene.store.transaction((tx) => tx.lock('account', 'SHARED'))
      assert.deepEqual(
        builds.map(({ state }) => state),
        ['RETIRED'],
      )
    })
  })

  describe('the lock of a projection', () => {
    testWith('ROW_LOCKS', 'is granted alone although transactions that share it follow each other', async (scene) => {
      await scene.open()
      const { runtime } = scene.subject
      const sharing = new AbortController()
      let shared = 0
      const share = async (store: typeof scene.store, afterMs: number): Promise<void> => {
        await runtime.timers.sleep(afterMs)
        while (!sharing.signal.aborted)
          await store.transaction(async (tx) => {
            await tx.lock('account', 'SHARED')
            shared++
            await runtime.timers.sleep(100)
          })
      }
      // Together they always have it.
      const all = [0, 1, 2, 3, 4, 5, 6, 7].map((one) => share(one % 2 === 0 ? scene.store : scene.other, one * 12))
      await runtime.timers.sleep(150)
      const before = shared
      try {
        await scene.other.transaction((tx) => tx.lock('account', 'EXCLUSIVE'))
        // Each of them may have been in front once more, and a busy machine delays the request.
        assert.ok(shared - before <= 4 * all.length, `${shared - before} transactions were in front`)
      } finally {
        sharing.abort()
        await Promise.all(all)
      }
    })
  })

  describe('the view', () => {
    test('shows the table that was named last', async (scene) => {
      const first = await scene.open()
      const second = await addSecond(scene)
      await scene.write(first, [balanceRow('a', 1, '1')])
      await scene.write(second, [balanceRow('a', 1, '2')])
      const show = (table: BuildTable) =>
        scene.store.transaction(async (tx) => {
          await tx.lock('account', 'EXCLUSIVE')
          await tx.show(table)
        })
      const shown = async () =>
        (await scene.subject.view('account', 'account_id', 'balance')).map(([, value]) => Number(value))
      await show(first)
      assert.deepEqual(await shown(), [1])
      await show(second)
      assert.deepEqual(await shown(), [2])
      await show(first)
      assert.deepEqual(await shown(), [1])
    })

    test('may change its columns', async (scene) => {
      const first = await scene.open()
      const second = await addSecond(scene, {
        owner: { type: 'text', isIndexed: false },
        balance: { type: 'integer', isIndexed: true },
      })
      await scene.write(second, [{ key: 'a', version: 1, state: { owner: 'o', balance: 7 }, isQuarantined: false }])
      await scene.store.transaction((tx) => tx.show(first))
      await scene.store.transaction((tx) => tx.show(second))
      assert.deepEqual(await scene.subject.view('account', 'account_id', 'owner'), [['a', 'o']])
    })
  })
}
