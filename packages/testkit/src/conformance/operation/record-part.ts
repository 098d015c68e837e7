import assert from 'node:assert/strict'
import { newOperation, noProgress, type OperationSuite } from './operation-scene.ts'

/** Tests of operations as records: created, read, listed, deleted. */
export function recordPart({ describe, test, testWith }: OperationSuite): void {
  describe('an operation', () => {
    test('is read as it was created, with offsets above 2^53', async ({ store }) => {
      const given = newOperation()
      await store.create(given)
      const read = await store.get(given.id)
      const { expiresInMs: _, ...fields } = given
      assert.deepEqual({ ...read, ...fields }, read)
      assert.deepEqual(read?.progress, noProgress)
      assert.deepEqual(
        [read?.takeovers, read?.runner, read?.wish, read?.endedAtMs],
        [0, undefined, undefined, undefined],
      )
      assert.ok(read !== undefined && read.createdAtMs > 0 && read.startedAtMs === read.createdAtMs)
    })

    test('that does not exist is undefined', async ({ store }) => {
      assert.equal(await store.get('op_missing'), undefined)
      assert.equal(await store.wish('op_missing', 'PAUSE'), undefined)
      assert.equal(await store.setRate('op_missing', 1), undefined)
    })

    test('is created once for an idempotency key of an operator', async ({ store, other }) => {
      const first = await store.create(newOperation({ idempotencyKey: 'key-1' }))
      const again = await other.create(newOperation({ idempotencyKey: 'key-1', rate: 7 }))
      assert.deepEqual([again.id, again.rate], [first.id, 50])
      const ofAnother = await store.create(newOperation({ idempotencyKey: 'key-1', by: 'ben' }))
      assert.notEqual(ofAnother.id, first.id)
    })

    test('is created once when two processes create it at the same time', async ({ store, other }) => {
      const racers = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? store : other))
      const created = await Promise.all(racers.map((one) => one.create(newOperation({ idempotencyKey: 'key-2' }))))
      assert.equal(new Set(created.map(({ id }) => id)).size, 1)
    })

    testWith('DURABLE', 'is seen by another process', async ({ store, other }) => {
      const { id } = await store.create(newOperation())
      assert.deepEqual(await other.get(id), await store.get(id))
    })
  })

  describe('the list', () => {
    test('has the newest first, in pages', async ({ store }) => {
      const created = []
      for (let index = 0; index < 5; index++) created.push((await store.create(newOperation())).id)
      const first = await store.list({}, { limit: 2 })
      const second = await store.list({}, { limit: 2, cursor: first.next ?? undefined })
      const third = await store.list({}, { limit: 2, cursor: second.next ?? undefined })
      const ids = [first, second, third].flatMap(({ items }) => items.map(({ id }) => id))
      assert.deepEqual(ids, created.toReversed())
      assert.equal(third.next, null)
    })

    test('selects by state, type, operator and target', async ({ store }) => {
      const replay = await store.create(newOperation())
      const purge = await store.create(
        newOperation({ type: 'PURGE', state: 'PLANNED', by: 'ben', target: 'default:billing' }),
      )
      const idsOf = async (query: Parameters<typeof store.list>[0]) =>
        (await store.list(query, { limit: 10 })).items.map(({ id }) => id)
      assert.deepEqual(await idsOf({ states: ['RUNNING'] }), [replay.id])
      assert.deepEqual(await idsOf({ types: ['PURGE', 'RELEASE'] }), [purge.id])
      assert.deepEqual(await idsOf({ by: 'ben' }), [purge.id])
      assert.deepEqual(await idsOf({ target: 'default:shipping' }), [replay.id])
      assert.deepEqual(await idsOf({ states: ['RUNNING'], by: 'ben' }), [])
    })
  })

  describe('a purge', () => {
    test('deletes final operations only, as many as asked for', async ({ store }) => {
      const running = await store.create(newOperation())
      for (let index = 0; index < 3; index++) {
        const { id } = await store.create(newOperation({ state: 'PLANNED' }))
        await store.wish(id, 'CANCEL')
      }
      assert.equal(await store.purge(0, 2), 2)
      assert.equal(await store.purge(0, 10), 1)
      assert.equal(await store.purge(0, 10), 0)
      assert.equal((await store.get(running.id))?.state, 'RUNNING')
    })

    test('keeps final operations that ended later than the age', async ({ store }) => {
      const { id } = await store.create(newOperation({ state: 'PLANNED' }))
      await store.wish(id, 'CANCEL')
      assert.equal(await store.purge(3_600_000, 10), 0)
      assert.equal((await store.get(id))?.state, 'CANCELLED')
    })

    test('cancels plans that expired', async ({ store }) => {
      const { id } = await store.create(newOperation({ state: 'PLANNED', expiresInMs: 0 }))
      await store.purge(3_600_000, 10)
      assert.equal((await store.get(id))?.state, 'CANCELLED')
      await assert.rejects(store.wish(id, 'START'), { code: 'WAYBILL_OPERATION_STATE_INVALID' })
    })
  })
}
