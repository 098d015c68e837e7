/** The tests of a local control alone; test/conformance/control.conformance.test.ts has those of every control. */

import { StateError } from '@waybill/core'
import { expect, test } from 'vitest'
import { createLocalControl } from '../../src/operations/local-control.ts'

const target = { cluster: 'default', groupId: 'shipping', binding: 'orders' }
const paused = { instance: 'host-1', outcome: 'APPLIED', state: 'PAUSED' } as const
const pause = { target, command: { type: 'PAUSE' }, operator: { by: 'alice' } } as const

test('D23 an answer has the scope of this process alone', async () => {
  const control = createLocalControl()
  control.join({
    name: 'host-1',
    apply: async () => paused,
    obey: async () => {},
    obeyTiers: async () => {},
    away: async () => paused,
    back: async () => paused,
    statuses: () => [],
  })
  expect(await control.submit(pause)).toEqual({
    scope: 'INSTANCE',
    instances: [paused],
  })
})

test('a command without a joined instance is refused, and does not change the desired state', async () => {
  const control = createLocalControl()
  await expect(control.submit(pause)).rejects.toThrow(StateError)
  expect(await control.desired(target)).toBeUndefined()
})
