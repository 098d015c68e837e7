import { StateError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createHarness } from '../support/outbox-harness.ts'

/** How the world behaves in one run. Rates are in percent, and end with the last write: then everything drains (L1). */
const world = fc.record({
  seed: fc.nat(),
  mode: fc.constantFrom('singleNode' as const, 'multiNode' as const),
  nodes: fc.integer({ min: 1, max: 3 }),
  whenDone: fc.constantFrom('KEEP' as const, 'DELETE' as const),
  refused: fc.nat(30),
  unanswered: fc.nat(30),
  listenerFails: fc.nat(30),
  rollsBack: fc.nat(30),
  latencyMs: fc.nat(20),
  listenerMs: fc.nat(50),
  workerCount: fc.integer({ min: 1, max: 8 }),
  hotQueueCapacity: fc.integer({ min: 1, max: 10 }),
  coldQueueCapacity: fc.integer({ min: 1, max: 10 }),
  batchSize: fc.integer({ min: 1, max: 12 }),
})

/** Worlds in which the relay was once wrong. */
const found: (typeof world extends fc.Arbitrary<infer W> ? W : never)[] = [
  // The repeat of a claim answered a row whose finish was under way, and its lease was given back.
  worldOf({ seed: 2_147_468_777, nodes: 1, refused: 15, unanswered: 28, latencyMs: 12, listenerMs: 9 }),
  // The answer of a claim was lost, and its repeat was full of other rows.
  worldOf({ seed: 13, nodes: 2, refused: 3, unanswered: 4, latencyMs: 9, listenerMs: 0 }),
  // The repeat of a claim was full of rows in flight, and was repeated without a pause.
  {
    ...worldOf({ seed: 18, nodes: 2, refused: 4, unanswered: 8, latencyMs: 0, listenerMs: 31 }),
    batchSize: 10,
    hotQueueCapacity: 7,
  },
]

function worldOf(parts: {
  readonly seed: number
  readonly nodes: number
  readonly refused: number
  readonly unanswered: number
  readonly latencyMs: number
  readonly listenerMs: number
}) {
  return {
    ...parts,
    mode: 'multiNode' as const,
    whenDone: 'KEEP' as const,
    listenerFails: 13,
    rollsBack: 3,
    workerCount: 1,
    hotQueueCapacity: 1,
    coldQueueCapacity: 1,
    batchSize: 1,
  }
}

test('whatever fails on the way, committed events are delivered and finished, and no others (I4, I5, L1)', async () => {
  await fc.assert(
    fc.asyncProperty(world, async (given) => {
      const harness = createHarness(given.seed)
      const { runtime, outbox } = harness
      const happens = (percent: number): boolean => runtime.random() * 100 < percent
      let isFaulty = false
      const failsWith = (percent: number, what: string) => (): void => {
        if (isFaulty && happens(percent)) throw new StateError(what)
      }
      outbox.latencyMs = given.latencyMs
      outbox.before = failsWith(given.refused, 'refused')
      outbox.after = failsWith(given.unanswered, 'the answer was lost')
      harness.behaviour = async () => {
        await runtime.timers.sleep(given.listenerMs)
        failsWith(given.listenerFails, 'the listener failed')()
      }
      const options = {
        ...harness.base,
        ...given,
        claimLocking: { timeoutMs: 600_000 },
        intervalMs: 500,
        maxAttempts: 100,
      }
      const { seed: _s, mode: _m, nodes: _n, refused: _r, unanswered: _u, ...rest } = options
      const { listenerFails: _l, rollsBack: _b, latencyMs: _t, listenerMs: _d, claimLocking, ...pool } = rest
      const count = given.mode === 'singleNode' ? 1 : given.nodes
      const boxes = Array.from({ length: count }, () =>
        given.mode === 'singleNode' ? Outbox.singleNode(pool) : Outbox.multiNode({ ...pool, claimLocking }),
      )
      const committed = new Set<string>()
      await runtime.run(async () => {
        for (const box of boxes) await box.start()
        isFaulty = true
        for (let n = 0; n < 30; n++) {
          const box = boxes[n % count] as (typeof boxes)[number]
          const id = await outbox
            .transaction(async (tx) => {
              const written = await box.write(tx, 'order.placed', { n })
              if (happens(given.rollsBack)) throw new StateError('rolled back')
              return written
            })
            .catch(() => null)
          if (id !== null) committed.add(id)
          await runtime.timers.sleep(Math.floor(runtime.random() * 40))
        }
        isFaulty = false
        await harness.until(() =>
          given.whenDone === 'KEEP' ? outbox.withStatus('DONE').length === committed.size : outbox.rows.length === 0,
        )
        for (const box of boxes) await box.stop()
      })
      expect(new Set(harness.deliveredIds())).toEqual(committed)
      expect(harness.metrics.total('outbox.finish.fenced')).toBe(0)
      // An attempt runs again only after it failed: no lease ends here, and no row is delivered twice at a time.
      const attempts = new Map<string, number>()
      for (const { eventId, attempt } of harness.delivered) {
        const last = attempts.get(eventId) ?? 0
        if (given.mode === 'multiNode') expect(attempt).toBe(last + 1)
        else expect(attempt).toBeGreaterThan(last)
        attempts.set(eventId, attempt)
      }
    }),
    { numRuns: 60, examples: found.map((given) => [given]) },
  )
})
