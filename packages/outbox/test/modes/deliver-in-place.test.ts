import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { HeldRow } from '../../src/claim/held-row.ts'
import { done, type Outcome } from '../../src/dispatch/row-outcome.ts'
import { deliverInPlace } from '../../src/modes/deliver-in-place.ts'
import { createDestinations, orderEvent } from '../support/outbox-harness.ts'

const later: Outcome = { kind: 'RETRY', delayMs: 1_000, error: 'The listener asked for more.' }

test.each([
  { mayStart: true, isModeOpen: true, attempts: [1, 2], ends: done, isLost: false },
  { mayStart: false, isModeOpen: true, attempts: [1], ends: later, isLost: true },
  { mayStart: true, isModeOpen: false, attempts: [1], ends: later, isLost: true },
])(
  'with mayStart $mayStart and isModeOpen $isModeOpen once the time has come, the attempts are $attempts',
  async ({ mayStart, isModeOpen, attempts, ends, isLost }) => {
    const runtime = createVirtualRuntime(1)
    const hold = { fence: { kind: 'SHARDS', leases: [] } as const, mayStart: () => mayStart }
    const row = new HeldRow(1n, orderEvent(1), 0, 'COLD', hold)
    const seen: number[] = []
    const deliver = deliverInPlace({
      runtime,
      isModeOpen: () => isModeOpen,
      destinations: createDestinations(runtime),
      waiting: () => {},
      deliver: async ({ attempt }) => {
        seen.push(attempt)
        return attempt === 1 ? later : done
      },
    })
    expect(await runtime.run(() => deliver(row))).toEqual(ends)
    expect(seen).toEqual(attempts)
    expect(row.isLost).toBe(isLost)
  },
)
