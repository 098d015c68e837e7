import assert from 'node:assert/strict'
import { IntendedFailureError } from '../../connector/intended-failure-error.ts'
import type { InboxUnderTest } from './idempotency-store-harness.ts'
import type { MarkScene, MarkSuite } from './mark-scene.ts'

/** Tests of marks in the transaction of their effect. */
export function inboxPart({ describe, testWith }: MarkSuite): void {
  const test = (title: string, run: (inbox: InboxUnderTest, scene: MarkScene) => Promise<void>): void =>
    testWith('TRANSACTIONS', title, (scene) => run(inboxOf(scene), scene))

  describe('an inbox', () => {
    test('has the effect once, also when another consumer instance repeats it', async (inbox) => {
      const [one, other] = inbox.inboxes
      const effect = (tx: unknown): Promise<void> => inbox.affect(tx, 'shipped')
      assert.equal(await one.run('shipping', 'event-1', effect), 'DONE')
      assert.equal(await one.run('shipping', 'event-1', effect), 'DUPLICATE')
      assert.equal(await other.run('shipping', 'event-1', effect), 'DUPLICATE')
      assert.deepEqual(await inbox.effects(), ['shipped'])
    })

    test('has no effect where a former key of the same event is marked', async (inbox) => {
      const [one, other] = inbox.inboxes
      const effect = (tx: unknown): Promise<void> => inbox.affect(tx, 'shipped')
      assert.equal(await one.run('shipping', 'event-1', effect), 'DONE')
      assert.equal(await other.run('shipping', 'topic:orders/event-1', effect, 'event-1'), 'DUPLICATE')
      assert.equal(await other.run('billing', 'topic:orders/event-1', effect, 'event-1'), 'DONE')
      assert.equal(await other.run('shipping', 'topic:orders/event-2', effect, 'event-2'), 'DONE')
      assert.deepEqual(await inbox.effects(), ['shipped', 'shipped', 'shipped'])
    })

    test('keeps neither mark nor effect when the effect fails, and rejects with its error', async (inbox, scene) => {
      const [one] = inbox.inboxes
      const thrown = new IntendedFailureError(1, 1)
      const failing = async (tx: unknown): Promise<void> => {
        await inbox.affect(tx, 'half')
        throw thrown
      }
      await assert.rejects(one.run('shipping', 'event-1', failing), (error) => error === thrown)
      assert.deepEqual(await inbox.effects(), [])
      assert.equal(await scene.subject.stores[0].seen('shipping', 'event-1'), false)
      assert.equal(await one.run('shipping', 'event-1', (tx) => inbox.affect(tx, 'whole')), 'DONE')
      assert.deepEqual(await inbox.effects(), ['whole'])
    })

    test('lets one of many at once have the effect', async (inbox, scene) => {
      const [one, other] = inbox.inboxes
      const racers = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? one : other))
      const effect = (tx: unknown): Promise<void> => inbox.affect(tx, 'shipped')
      const outcomes = await Promise.all(
        racers.map((racer) => scene.untilAnswered(() => racer.run('shipping', 'event-1', effect))),
      )
      assert.equal(outcomes.filter((outcome) => outcome === 'DONE').length, 1)
      assert.deepEqual(await inbox.effects(), ['shipped'])
    })

    test('lets a second one have the effect when the first rolls back', async (inbox, scene) => {
      const [one, other] = inbox.inboxes
      const [entered, leave] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const first = one.run('shipping', 'event-1', async () => {
        entered.resolve()
        await leave.promise
        throw new IntendedFailureError(1, 1)
      })
      await entered.promise
      const effect = (tx: unknown): Promise<void> => inbox.affect(tx, 'by the second')
      const second = scene.untilAnswered(() => other.run('shipping', 'event-1', effect))
      leave.resolve()
      await assert.rejects(first, IntendedFailureError)
      assert.equal(await second, 'DONE')
      assert.deepEqual(await inbox.effects(), ['by the second'])
    })

    test('shares its marks with the store', async (inbox, { subject: { stores } }) => {
      await stores[0].mark('shipping', 'event-1')
      const outcome = await inbox.inboxes[0].run('shipping', 'event-1', (tx) => inbox.affect(tx, 'never'))
      assert.equal(outcome, 'DUPLICATE')
      await inbox.inboxes[0].run('shipping', 'event-2', (tx) => inbox.affect(tx, 'shipped'))
      assert.equal(await stores[1].seen('shipping', 'event-2'), true)
      assert.deepEqual(await inbox.effects(), ['shipped'])
    })
  })

  describe("a mark in the caller's transaction", () => {
    test('commits with it, and tells whether it is the first', async (inbox, { subject: { stores } }) => {
      const mark = (tx: unknown): Promise<boolean> => inbox.markWithin(tx, 'shipping', 'event-1')
      assert.equal(await inbox.transaction(mark), true)
      assert.equal(await stores[0].seen('shipping', 'event-1'), true)
      assert.equal(await inbox.transaction(mark), false)
    })

    test('is gone with it', async (inbox, { subject: { stores } }) => {
      const lost = inbox.transaction(async (tx) => {
        await inbox.markWithin(tx, 'shipping', 'event-1')
        throw new IntendedFailureError(1, 1)
      })
      await assert.rejects(lost, IntendedFailureError)
      assert.equal(await stores[0].seen('shipping', 'event-1'), false)
    })
  })
}

function inboxOf({ subject: { inbox } }: MarkScene): InboxUnderTest {
  assert.ok(inbox !== null, 'a harness with TRANSACTIONS has an inbox')
  return inbox
}
