import assert from 'node:assert/strict'
import { StateError } from '@waybill/core'
import type { BuildTable, StoredRow } from '@waybill/core/internal'
import { balanceRow, type ProjectionSuite } from './projection-scene.ts'

/** Keys that a careless store confuses or breaks at. */
const confusable = [
  'Order-1',
  'order-1',
  'résumé',
  'resume',
  "it's",
  'a"b',
  'back\\slash',
  '{a,b}',
  'NULL',
  '😀',
  '1',
  '01',
]

const allTypes: BuildTable['columns'] = {
  word: { type: 'text', isIndexed: true },
  text: { type: 'text', isIndexed: false },
  amount: { type: 'decimal', isIndexed: false },
  count: { type: 'integer', isIndexed: false },
  flag: { type: 'boolean', isIndexed: false },
  instant: { type: 'timestamp', isIndexed: false },
  document: { type: 'json', isIndexed: false },
  blob: { type: 'bytes', isIndexed: false },
}

/** States with the extreme values of each column. */
const states: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  usual: {
    word: 'EUR',
    text: 'a text',
    amount: '12.5',
    count: 42,
    flag: true,
    instant: 1_767_225_600_123,
    document: { list: [1, 'two', null], nested: { a: true } },
    blob: Buffer.from([0, 1, 255]),
  },
  empty: { word: '', text: '', amount: '0', count: 0, flag: false, instant: 0, document: [], blob: Buffer.alloc(0) },
  null: Object.fromEntries(Object.keys(allTypes).map((name) => [name, null])),
  extreme: {
    word: 'w'.repeat(255),
    text: `quote " ' \\ {x,y} NULL \n ${'long '.repeat(5_000)}😀`,
    amount: '-123456789012345678901234567890.12345678901234567',
    count: 9_007_199_254_740_993n,
    flag: true,
    instant: 253_402_300_799_999,
    document: { text: 'a "quoted" \\ one', number: 1.5 },
    blob: Buffer.alloc(10_000, 7),
  },
  negative: {
    word: '-',
    text: '-',
    amount: '-0.1',
    count: -9_007_199_254_740_991,
    flag: false,
    instant: -1_000,
    document: 'text',
    blob: Buffer.from('x'),
  },
}

/** Tests of rows. */
export function rowPart({ describe, test, testWith }: ProjectionSuite): void {
  describe('a row', () => {
    test('is not there before it is written, and then for every process', async (scene) => {
      const table = await scene.open()
      assert.deepEqual(await scene.store.read(table, ['a']), [])
      await scene.write(table, [balanceRow('a', 1, '10')])
      assert.deepEqual(await scene.other.read(table, ['a', 'b']), [balanceRow('a', 1, '10')])
    })

    test('is replaced by a higher version and kept against the same or a lower one', async (scene) => {
      const table = await scene.open()
      await scene.write(table, [balanceRow('a', 2, '20'), balanceRow('b', 1, '1')])
      await scene.write(table, [balanceRow('a', 2, '21'), balanceRow('b', 3, '3')])
      await scene.write(table, [balanceRow('a', 1, '10'), balanceRow('b', 4, '4')])
      assert.deepEqual(await scene.store.scan(table, null, 10), [balanceRow('a', 2, '20'), balanceRow('b', 4, '4')])
    })

    test('without a state keeps its version and is not shown', async (scene) => {
      const table = await scene.open()
      const deleted: StoredRow = { key: 'a', version: 3, state: undefined, isQuarantined: false }
      await scene.write(table, [balanceRow('a', 2, '20'), balanceRow('b', 1, '1')])
      await scene.write(table, [deleted])
      await scene.store.transaction((tx) => tx.show(table))
      assert.deepEqual(await scene.store.read(table, ['a']), [deleted])
      assert.deepEqual(
        (await scene.subject.view('account', 'account_id', 'balance')).map(([key]) => key),
        ['b'],
      )
      await scene.write(table, [balanceRow('a', 2, '20')])
      assert.deepEqual(await scene.store.read(table, ['a']), [deleted])
      await scene.write(table, [balanceRow('a', 4, '40')])
      assert.deepEqual(await scene.store.read(table, ['a']), [balanceRow('a', 4, '40')])
    })

    test('is undone with its transaction', async (scene) => {
      const table = await scene.open()
      const failure = scene.store.transaction(async (tx) => {
        await tx.write(table, [balanceRow('a', 1, '10')])
        await tx.advance(table, [{ topic: 't', partition: 0, next: 5n }])
        throw new StateError('rolled back')
      })
      await assert.rejects(failure, StateError)
      assert.deepEqual(await scene.store.read(table, ['a']), [])
      assert.deepEqual(await scene.store.positions(table), [])
    })

    test('is found by its exact key', async (scene) => {
      const table = await scene.open()
      const rows = confusable.map((key, index) => balanceRow(key, 1, String(index)))
      await scene.write(table, rows)
      for (const row of rows) assert.deepEqual(await scene.store.read(table, [row.key]), [row])
      assert.equal((await scene.store.read(table, confusable)).length, confusable.length)
    })

    for (const [name, state] of Object.entries(states)) {
      test(`has the ${name} values of every type of column as they were written`, async (scene) => {
        const table = await scene.open(scene.table(allTypes, 3))
        const row: StoredRow = { key: 'a', version: 1, state, isQuarantined: false }
        await scene.write(table, [row])
        assert.deepEqual(await scene.store.read(table, ['a']), [row])
        const next: StoredRow = { ...row, version: 2 }
        await scene.store.transaction((tx) => tx.restore(table, next))
        assert.deepEqual(await scene.store.read(table, ['a']), [next])
      })
    }

    test('may be one of a thousand in a batch', async (scene) => {
      const table = await scene.open()
      const rows = Array.from({ length: 1_000 }, (_, index) =>
        balanceRow(`k${String(index).padStart(4, '0')}`, 1, `${index}`),
      )
      await scene.write(table, rows)
      await scene.write(
        table,
        rows.map((row) => ({ ...row, version: 2 })),
      )
      const keys = rows.map(({ key }) => key)
      const read = await scene.store.read(table, keys)
      assert.equal(read.length, 1_000)
      assert.ok(read.every(({ version }) => version === 2))
    })
  })

  describe('a scan', () => {
    test('has every row once, in pages, those without a state included', async (scene) => {
      const table = await scene.open()
      const absent: StoredRow = { key: 'c', version: 1, state: undefined, isQuarantined: false }
      await scene.write(table, [balanceRow('a', 1, '1'), balanceRow('b', 1, '2'), absent])
      assert.deepEqual(await scene.store.scan(table, null, 2), [balanceRow('a', 1, '1'), balanceRow('b', 1, '2')])
      assert.deepEqual(await scene.store.scan(table, 'b', 2), [absent])
      assert.deepEqual(await scene.store.scan(table, 'c', 2), [])
    })

    test('up to a key has the rows before it in the order of the database, whatever characters keys have', async (scene) => {
      const table = await scene.open()
      const keys = ['a', 'a\u0001', 'a\n', 'a!', 'a\u007f', 'a b', 'b', '\uffee', '😀']
      await scene.write(
        table,
        keys.map((key) => balanceRow(key, 1, '1')),
      )
      const all = await scene.store.scan(table, null, 100)
      assert.equal(all.length, keys.length)
      for (const [place, { key }] of all.entries()) {
        assert.deepEqual(await scene.store.scan(table, null, 100, key), all.slice(0, place + 1))
        assert.deepEqual(await scene.store.scan(table, key, 100), all.slice(place + 1))
      }
    })
  })

  describe('two writers', () => {
    test('of the first version of a row both succeed, and one of them has written it', async (scene) => {
      const table = await scene.open()
      const [one, other] = scene.subject.stores
      for (let round = 1; round <= 5; round++) {
        const write = (store: typeof one) =>
          store.transaction((tx) => tx.write(table, [balanceRow(`a${round}`, 1, '10')]))
        await Promise.all([write(one), write(other)])
        assert.deepEqual(await scene.store.read(table, [`a${round}`]), [balanceRow(`a${round}`, 1, '10')])
      }
    })

    test('of different versions end with the higher one, whichever commits last', async (scene) => {
      const table = await scene.open()
      const [one, other] = scene.subject.stores
      for (let round = 1; round <= 5; round++) {
        const keys = Array.from({ length: 20 }, (_, index) => `r${round}-${String(index).padStart(2, '0')}`)
        await Promise.all([
          one.transaction((tx) =>
            tx.write(
              table,
              keys.map((key) => balanceRow(key, 2, '2')),
            ),
          ),
          other.transaction((tx) =>
            tx.write(
              table,
              keys.map((key) => balanceRow(key, 3, '3')),
            ),
          ),
        ])
        assert.ok((await scene.store.read(table, keys)).every(({ version }) => version === 3))
      }
    })

    testWith('ROW_LOCKS', 'of different rows do not wait for each other', async (scene) => {
      const table = await scene.open()
      const [one, other] = scene.subject.stores
      await one.transaction(async (tx) => {
        await tx.lock('account', 'SHARED')
        await tx.write(table, [balanceRow('a', 1, '1')])
        await other.transaction(async (second) => {
          await second.lock('account', 'SHARED')
          await second.write(table, [balanceRow('b', 1, '1')])
        })
        // Not committed, so not seen.
        assert.deepEqual(await other.read(table, ['a', 'b']), [balanceRow('b', 1, '1')])
      })
      assert.equal((await other.read(table, ['a', 'b'])).length, 2)
    })
  })
}
