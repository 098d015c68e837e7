import assert from 'node:assert/strict'
import type { StoredRow } from '@waybill/core/internal'
import { balanceRow, type ProjectionSuite } from './projection-scene.ts'

const gap = { key: 'a', reason: 'GAP', expected: 3, found: 5 } as const

/** Tests of quarantined keys. */
export function quarantinePart({ describe, test }: ProjectionSuite): void {
  describe('a quarantined key', () => {
    test('is shown on its row, and keeps its state', async (scene) => {
      const table = await scene.open()
      await scene.write(table, [balanceRow('a', 2, '20'), balanceRow('b', 1, '1')])
      assert.equal(await scene.store.transaction((tx) => tx.quarantine(table, gap)), true)
      assert.deepEqual(await scene.other.read(table, ['a']), [{ ...balanceRow('a', 2, '20'), isQuarantined: true }])
      assert.deepEqual(await scene.other.read(table, ['b']), [balanceRow('b', 1, '1')])
      const [entry] = await scene.other.quarantined(table, { after: null, limit: 10 })
      assert.ok(entry !== undefined && entry.since > 0)
      assert.deepEqual({ ...entry, since: 0 }, { ...gap, last: 5, since: 0 })
      assert.equal(await scene.other.countQuarantined(table), 1)
    })

    test('may have no row', async (scene) => {
      const table = await scene.open()
      const entry = { ...gap, expected: 1 }
      assert.equal(await scene.store.transaction((tx) => tx.quarantine(table, entry)), true)
      assert.equal(await scene.store.transaction((tx) => tx.quarantine(table, entry)), false)
      const [row] = await scene.store.read(table, ['a'])
      assert.deepEqual(row, { key: 'a', version: 0, state: undefined, isQuarantined: true })
      await scene.store.transaction((tx) => tx.show(table))
      assert.deepEqual(await scene.subject.view('account', 'account_id', 'balance'), [])
    })

    test('is not quarantined if its row has moved on', async (scene) => {
      const table = await scene.open()
      await scene.write(table, [balanceRow('a', 3, '30'), balanceRow('new', 1, '1')])
      assert.equal(await scene.store.transaction((tx) => tx.quarantine(table, gap)), false)
      const first = { ...gap, key: 'new', expected: 1 }
      assert.equal(await scene.store.transaction((tx) => tx.quarantine(table, first)), false)
      assert.equal(await scene.store.countQuarantined(table), 0)
    })

    test('stays quarantined when its row is written, whatever the state of the row', async (scene) => {
      const table = await scene.open()
      await scene.write(table, [balanceRow('a', 2, '20')])
      await scene.store.transaction((tx) => tx.quarantine(table, gap))
      const deleted: StoredRow = { key: 'a', version: 7, state: undefined, isQuarantined: false }
      for (const row of [balanceRow('a', 6, '60'), deleted, balanceRow('a', 8, '80')]) {
        await scene.write(table, [row])
        assert.deepEqual(await scene.store.read(table, ['a']), [{ ...row, isQuarantined: true }])
      }
      await scene.write(table, [balanceRow('a', 8, '81')])
      assert.deepEqual(await scene.store.read(table, ['a']), [{ ...balanceRow('a', 8, '80'), isQuarantined: true }])
      assert.equal(await scene.store.countQuarantined(table), 1)
    })

    test('remembers the highest version seen', async (scene) => {
      const table = await scene.open()
      await scene.write(table, [balanceRow('a', 2, '20')])
      await scene.store.transaction((tx) => tx.quarantine(table, gap))
      for (const version of [7, 6]) {
        assert.equal(await scene.store.transaction((tx) => tx.extendQuarantine(table, 'a', version)), true)
      }
      assert.equal(await scene.store.transaction((tx) => tx.extendQuarantine(table, 'b', 1)), false)
      const entry = await scene.other.transaction((tx) => tx.lockQuarantined(table, 'a'))
      assert.equal(entry?.last, 7)
      assert.equal(await scene.other.transaction((tx) => tx.lockQuarantined(table, 'b')), undefined)
    })

    test('is released with its row', async (scene) => {
      const table = await scene.open()
      await scene.write(table, [balanceRow('a', 2, '20')])
      await scene.store.transaction((tx) => tx.quarantine(table, gap))
      await scene.store.transaction(async (tx) => {
        await tx.lockQuarantined(table, 'a')
        await tx.restore(table, balanceRow('a', 5, '50'))
      })
      assert.deepEqual(await scene.store.read(table, ['a']), [balanceRow('a', 5, '50')])
      assert.deepEqual(await scene.store.quarantined(table, { after: null, limit: 10 }), [])
      assert.equal(await scene.store.transaction((tx) => tx.extendQuarantine(table, 'a', 6)), false)
    })

    test('is listed in the order of the keys, in pages', async (scene) => {
      const table = await scene.open()
      for (const key of ['c', 'a', 'b'])
        await scene.store.transaction((tx) => tx.quarantine(table, { ...gap, key, expected: 1 }))
      const page = (after: string | null) => scene.store.quarantined(table, { after, limit: 2 })
      const keys = [...(await page(null)), ...(await page('b'))].map(({ key }) => key)
      assert.deepEqual(keys, ['a', 'b', 'c'])
    })

    test('is listed by its own transaction before it commits', async (scene) => {
      const table = await scene.open()
      await scene.store.transaction((tx) => tx.quarantine(table, { ...gap, key: 'b', expected: 1 }))
      const seen = await scene.store.transaction(async (tx) => {
        await tx.quarantine(table, { ...gap, expected: 1 })
        const all = await tx.quarantined(table, { after: null, limit: 10 })
        return [...all, ...(await tx.quarantined(table, { after: 'a', limit: 10 }))].map(({ key }) => key)
      })
      assert.deepEqual(seen, ['a', 'b', 'b'])
    })
  })
}
