import assert from 'node:assert/strict'
import { newOperation, noProgress, type OperationSuite } from './operation-scene.ts'

/** Tests of the transitions that operators ask for. */
export function wishPart({ describe, test }: OperationSuite): void {
  describe('a plan', () => {
    test('runs once it is started, and cannot be taken before', async ({ store }) => {
      const { id } = await store.create(newOperation({ state: 'PLANNED' }))
      assert.equal(await store.take('shop-1', ['REPLAY'], 1_000), undefined)
      const started = await store.wish(id, 'START')
      assert.equal(started?.state, 'RUNNING')
      assert.notEqual(started?.startedAtMs, undefined)
      assert.equal((await store.take('shop-1', ['REPLAY'], 1_000))?.operation.id, id)
    })

    test('cannot be started after it expired', async ({ store }) => {
      const { id } = await store.create(newOperation({ state: 'PLANNED', expiresInMs: 0 }))
      await assert.rejects(store.wish(id, 'START'), { code: 'WAYBILL_OPERATION_STATE_INVALID' })
    })

    test('cannot be paused or resumed', async ({ store }) => {
      const { id } = await store.create(newOperation({ state: 'PLANNED' }))
      for (const wish of ['PAUSE', 'RESUME'] as const)
        await assert.rejects(store.wish(id, wish), { code: 'WAYBILL_OPERATION_STATE_INVALID', state: 'PLANNED' })
    })
  })

  describe('an operation without a runner', () => {
    test('is paused, resumed and cancelled at once', async ({ store }) => {
      const { id } = await store.create(newOperation())
      const paused = await store.wish(id, 'PAUSE')
      assert.deepEqual([paused?.state, paused?.pausedBy, paused?.wish], ['PAUSED', 'OPERATOR', undefined])
      assert.equal((await store.wish(id, 'RESUME'))?.state, 'RUNNING')
      const cancelled = await store.wish(id, 'CANCEL')
      assert.equal(cancelled?.state, 'CANCELLED')
      assert.notEqual(cancelled?.endedAtMs, undefined)
    })

    test('that is final accepts no wish and no rate', async ({ store }) => {
      const { id } = await store.create(newOperation())
      await store.wish(id, 'CANCEL')
      for (const wish of ['START', 'PAUSE', 'RESUME', 'CANCEL'] as const)
        await assert.rejects(store.wish(id, wish), { code: 'WAYBILL_OPERATION_STATE_INVALID' })
      await assert.rejects(store.setRate(id, 5), { code: 'WAYBILL_OPERATION_STATE_INVALID' })
    })
  })

  describe('an operation with a runner', () => {
    test('shows a pause as a wish, which the runner reads with its next write', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take()
      const asked = await scene.other.wish(id, 'PAUSE')
      assert.deepEqual([asked?.state, asked?.wish], ['RUNNING', 'PAUSE'])
      assert.equal((await scene.store.settle(lease, noProgress, []))?.wish, 'PAUSE')
      assert.equal(await scene.store.finish(lease, { state: 'PAUSED', pausedBy: 'OPERATOR' }), true)
      const paused = await scene.store.get(id)
      assert.deepEqual([paused?.state, paused?.wish, paused?.runner], ['PAUSED', undefined, undefined])
    })

    test('takes a pause back until the runner follows it', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take()
      await scene.other.wish(id, 'PAUSE')
      assert.equal((await scene.other.wish(id, 'RESUME'))?.wish, undefined)
      assert.equal((await scene.store.renew(lease, 1_000))?.wish, undefined)
    })

    test('stays cancelled when a pause is asked for after it', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take()
      await scene.other.wish(id, 'CANCEL')
      assert.equal((await scene.other.wish(id, 'PAUSE'))?.wish, 'CANCEL')
      assert.equal((await scene.store.intend(lease, []))?.wish, 'CANCEL')
    })

    test('reads a new rate with its next write', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take()
      assert.equal((await scene.other.setRate(id, 7.5))?.rate, 7.5)
      assert.equal((await scene.store.renew(lease, 1_000))?.rate, 7.5)
    })
  })
}
