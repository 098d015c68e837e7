/**
 * A fail-over to a standby that lacks the last commits takes events out of the table that a node has in memory, and gives
 * their numbers to others. What comes of the lost ones must not end the others (I4).
 */

import { Outbox } from '@waybill/outbox'
import { describe, expect, test } from 'vitest'
import type { MemoryRow } from '../support/memory-outbox.ts'
import { createHarness, type OutboxHarness, orderEvent } from '../support/outbox-harness.ts'

const modes = {
  'Outbox.singleNode': ({ base }: OutboxHarness) => Outbox.singleNode({ ...base, intervalMs: 100 }),
  'Outbox.multiNode': ({ base }: OutboxHarness) =>
    Outbox.multiNode({ ...base, intervalMs: 100, claimLocking: { timeoutMs: 60_000 } }),
  'Outbox.ordered': ({ base }: OutboxHarness) => Outbox.ordered({ ...base, intervalMs: 100 }),
  'Outbox.keyed': ({ base }: OutboxHarness) => Outbox.keyed({ ...base, intervalMs: 100 }),
} as const

const ends = {
  succeeds: async () => {},
  fails: async () => {
    throw new Error('not now')
  },
} as const

/** The same number, and as much else as can be the same: another event. */
function giveNumberTo(rows: MemoryRow[], event: ReturnType<typeof orderEvent>): void {
  const [lost] = rows
  rows[0] = { ...(lost as MemoryRow), event }
}

describe.each(Object.entries(modes))('%s', (_, create) => {
  test.each(Object.entries(ends))(
    'delivers an event whose number an event had that was lost and %s',
    async (__, end) => {
      const harness = createHarness()
      const { runtime, outbox: table } = harness
      const going = Promise.withResolvers<void>()
      harness.behaviour = async ({ eventId }) => {
        if (eventId !== 'event-1') return
        await going.promise
        await end()
      }
      const outbox = create(harness)
      await runtime.run(async () => {
        await outbox.start()
        await table.transaction((tx) => outbox.write(tx, 'order.placed', {}, { eventId: 'event-1' }))
        await harness.until(() => harness.delivered.length === 1)
        // Of the same key: in keyed it is read by the same node.
        giveNumberTo(table.rows, { ...orderEvent(1), eventId: 'event-2' })
        going.resolve()
        await harness.until(() => table.withStatus('DONE').length === 1)
        await outbox.stop()
      })
      expect(harness.deliveredIds()).toEqual(['event-1', 'event-2'])
      expect(table.rows).toMatchObject([{ event: { eventId: 'event-2' }, status: 'DONE', attempts: 0 }])
      expect(harness.metrics.total('outbox.finish.fenced')).toBe(1)
    },
  )
})
