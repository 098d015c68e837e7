import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import type { ControlledInstance, DesiredState } from '../../src/api/control.ts'
import { statusKey, valueOf } from '../../src/fleet/fleet-entry.ts'
import { FleetState } from '../../src/fleet/fleet-state.ts'
import { OwnInstance } from '../../src/fleet/own-instance.ts'

const target = { cluster: 'default', groupId: 'shipping', binding: 'orders' }
const always = (): boolean => true

function unused(): never {
  throw new Error('not called here')
}

test('establishes a state that it missed, although its control was asked for it before', async () => {
  const obeyed: DesiredState[] = []
  const instance: ControlledInstance = {
    name: 'host-1',
    statuses: () => [{ target, state: 'RUNNING', pausedBy: [] }],
    obey: async (_, state) => void obeyed.push(state),
    obeyTiers: unused,
    apply: unused,
    away: unused,
    back: unused,
  }
  const own = new OwnInstance({
    instance,
    incarnation: 'a',
    version: undefined,
    writer: { put: () => {} } as never,
    runtime: createVirtualRuntime(1),
    answered: unused,
  })
  const state = new FleetState()
  const status = valueOf({ instance: 'host-1', incarnation: 'a', bindings: instance.statuses() })
  state.take({ key: statusKey('a'), value: status, position: '1', atMs: 1 }, 1)
  own.believeAtStart(target, { state: 'RUNNING', tiers: [] })
  const paused = valueOf({ target, state: 'PAUSED', upTo: '2', by: 'b' })
  state.take({ key: 'desired/x', value: paused, position: '2', atMs: 2 }, 2)
  own.believeAtStart(target, { state: 'PAUSED', tiers: [] })
  own.obey(state, always)
  expect(obeyed).toEqual(['PAUSED'])
})
