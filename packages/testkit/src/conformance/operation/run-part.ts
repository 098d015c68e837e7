import assert from 'node:assert/strict'
import { from, newOperation, noProgress, type OperationSuite, shortLeaseMs } from './operation-scene.ts'

const batch = [{ topic: 'orders.DLT', partition: 0, from, until: from + 10n }]

const progress = {
  ...noProgress,
  scanned: 10n,
  sent: 7n,
  refused: { MAX_REPLAYS: 3n },
  remaining: [{ topic: 'orders.DLT', partition: 0, from: from + 10n, until: from + 100n }],
  cursor: { after: 'k-7' },
}

const refusal = { topic: 'orders.DLT', partition: 0, offset: from, outcome: 'REFUSED', detail: 'MAX_REPLAYS' } as const

/** Tests of leases, batches and takeovers. */
export function runPart({ describe, test }: OperationSuite): void {
  describe('a runner', () => {
    test('takes the oldest operation of the types it can run', async ({ store }) => {
      await store.create(newOperation({ type: 'PURGE' }))
      const first = await store.create(newOperation())
      await store.create(newOperation())
      assert.equal((await store.take('shop-1', ['REPLAY'], 60_000))?.operation.id, first.id)
      assert.equal(await store.take('shop-1', ['RELEASE'], 60_000), undefined)
    })

    test('is the only one of many that take at once', async ({ store, other }) => {
      await store.create(newOperation())
      const racers = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? store : other))
      const taken = await Promise.all(racers.map((one, index) => one.take(`shop-${index}`, ['REPLAY'], 60_000)))
      assert.equal(taken.filter((one) => one !== undefined).length, 1)
    })

    test('is named with its lease while it runs', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take('shop-7')
      const running = await scene.other.get(id)
      assert.equal(running?.runner, 'shop-7')
      assert.ok(running?.leaseUntilMs !== undefined && running.leaseUntilMs > running.createdAtMs)
      assert.equal(await scene.store.finish(lease, { state: 'DONE' }), true)
      const done = await scene.other.get(id)
      assert.deepEqual([done?.state, done?.runner, done?.leaseUntilMs], ['DONE', undefined, undefined])
    })

    test('settles progress and items, which a reader sees as they are', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take()
      await scene.store.intend(lease, batch)
      assert.deepEqual(await scene.store.settle(lease, progress, [refusal]), { wish: undefined, rate: 50 })
      assert.deepEqual((await scene.other.get(id))?.progress, progress)
      assert.deepEqual((await scene.other.items(id, undefined, { limit: 10 })).items, [refusal])
      assert.deepEqual((await scene.other.items(id, 'MAY_REPEAT', { limit: 10 })).items, [])
    })

    test('shows its trouble until it advances', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take()
      const trouble = { code: 'WAYBILL_KAFKA', message: 'no broker answers' }
      assert.equal(await scene.store.setTrouble(lease, trouble), true)
      assert.deepEqual((await scene.store.get(id))?.trouble, trouble)
      assert.equal(await scene.store.setTrouble(lease, undefined), true)
      assert.equal((await scene.store.get(id))?.trouble, undefined)
    })

    test('fails an operation with the error', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take()
      const error = { code: undefined, message: 'the topic is gone' }
      assert.equal(await scene.store.finish(lease, { state: 'FAILED', error }), true)
      const failed = await scene.store.get(id)
      assert.deepEqual([failed?.state, failed?.trouble], ['FAILED', error])
    })

    test('that releases leaves the operation to the next one at once', async (scene) => {
      await scene.store.create(newOperation())
      const { lease } = await scene.take('shop-1')
      await scene.store.release(lease)
      const next = await scene.take('shop-2')
      assert.deepEqual([next.operation.runner, next.operation.takeovers, next.intended], ['shop-2', 0, []])
      assert.equal(next.isTakeover, false)
    })
  })

  describe('a takeover', () => {
    test('happens when the lease has expired, and learns what was intended and not settled', async (scene) => {
      await scene.store.create(newOperation())
      const { lease } = await scene.take('shop-1', shortLeaseMs)
      await scene.store.intend(lease, batch)
      const next = await scene.takeOver()
      assert.deepEqual([next.operation.takeovers, next.operation.runner, next.isTakeover], [1, 'shop-2', true])
      assert.deepEqual(next.intended, batch)
    })

    test('ends every right of the runner before', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take('shop-1', shortLeaseMs)
      await scene.takeOver()
      assert.equal(await scene.store.renew(lease, 60_000), undefined)
      assert.equal(await scene.store.intend(lease, batch), undefined)
      assert.equal(await scene.store.settle(lease, progress, [refusal]), undefined)
      assert.equal(await scene.store.setTrouble(lease, { code: undefined, message: 'late' }), false)
      assert.equal(await scene.store.finish(lease, { state: 'DONE' }), false)
      await scene.store.release(lease)
      const operation = await scene.store.get(id)
      assert.deepEqual(
        [operation?.state, operation?.runner, operation?.trouble, operation?.progress],
        ['RUNNING', 'shop-2', undefined, noProgress],
      )
      assert.deepEqual((await scene.store.items(id, undefined, { limit: 10 })).items, [])
    })

    test('does not happen while the lease is renewed', async (scene) => {
      await scene.store.create(newOperation())
      const { lease } = await scene.take('shop-1', shortLeaseMs)
      await scene.store.renew(lease, 60_000)
      await scene.subject.runtime.timers.sleep(2 * shortLeaseMs)
      assert.equal(await scene.other.take('shop-2', ['REPLAY'], 1_000), undefined)
    })

    test('knows of no batch that was settled', async (scene) => {
      await scene.store.create(newOperation())
      const { lease } = await scene.take('shop-1', shortLeaseMs)
      await scene.store.intend(lease, batch)
      await scene.store.settle(lease, progress, [])
      const next = await scene.takeOver()
      assert.deepEqual(next.intended, [])
      assert.deepEqual(next.operation.progress, progress)
    })
  })

  describe('outcomes of copies', () => {
    test('are the sum of all instances, and a repeat of a count changes nothing', async ({ store, other }) => {
      const { id } = await store.create(newOperation())
      const one = { succeeded: 4n, retrying: 1n, failedAgain: 0n, skipped: 0n }
      await store.tally(id, 'shop-1/a', one)
      await store.tally(id, 'shop-1/a', one)
      await other.tally(id, 'shop-2/b', { succeeded: 2n, retrying: 0n, failedAgain: 3n, skipped: 1n })
      const expected = { succeeded: 6n, retrying: 1n, failedAgain: 3n, skipped: 1n }
      assert.deepEqual((await other.get(id))?.outcomes, expected)
      assert.deepEqual((await other.list({}, { limit: 1 })).items[0]?.outcomes, expected)
    })

    test('are still counted after the operation is DONE', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take()
      await scene.store.finish(lease, { state: 'DONE' })
      await scene.store.tally(id, 'shop-1/a', { succeeded: 1n, retrying: 0n, failedAgain: 0n, skipped: 0n })
      assert.equal((await scene.store.get(id))?.outcomes.succeeded, 1n)
    })
  })

  describe('a repeat of a write whose answer was lost', () => {
    test('changes nothing', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take('shop-1', shortLeaseMs)
      await scene.store.intend(lease, batch)
      await scene.store.intend(lease, batch)
      await scene.store.settle(lease, progress, [refusal])
      await scene.store.settle(lease, progress, [refusal])
      assert.deepEqual((await scene.store.items(id, undefined, { limit: 10 })).items, [refusal])
      await scene.store.intend(lease, batch)
      await scene.store.intend(lease, batch)
      assert.deepEqual((await scene.takeOver()).intended, batch)
    })
  })

  describe('items', () => {
    test('are paged in the order they were settled', async (scene) => {
      const { id } = await scene.store.create(newOperation())
      const { lease } = await scene.take()
      const items = Array.from({ length: 5 }, (_, index) => ({ ...refusal, offset: from + BigInt(index) }))
      await scene.store.settle(lease, progress, items.slice(0, 2))
      await scene.store.settle(lease, progress, items.slice(2))
      const first = await scene.store.items(id, 'REFUSED', { limit: 3 })
      const second = await scene.store.items(id, 'REFUSED', { limit: 3, cursor: first.next ?? undefined })
      assert.deepEqual([...first.items, ...second.items], items)
      assert.equal(second.next, null)
    })
  })
}
