import assert from 'node:assert/strict'
import { StateError } from '@waybill/core'
import { type ControlSuite, requestOf, target } from './control-scene.ts'

/** Tests of a control that reaches more than one process. */
export function fleetPart({ describe, testWith }: ControlSuite): void {
  describe('a fleet', () => {
    testWith('FLEET', 'receives a command as one: each instance answers it, wherever it was given', async (scene) => {
      const here = scene.join('host-1')
      const there = scene.join('host-2', () => ({ outcome: 'FAILED', error: new StateError('busy') }), scene.other)
      const { scope, instances } = await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.equal(scope, 'FLEET')
      assert.deepEqual([here.seen.length, there.seen.length], [1, 1])
      const outcomes = instances.map(({ instance, outcome }) => `${instance} ${outcome}`)
      assert.deepEqual(outcomes.toSorted(), ['host-1 APPLIED', 'host-2 FAILED'])
    })

    testWith('FLEET', 'has one instance move positions: they are those of the group', async (scene) => {
      const here = scene.join('host-1')
      const there = scene.join('host-2', () => ({}), scene.other)
      await scene.other.submit(requestOf({ type: 'SEEK', seek: { to: 'LATEST' } }))
      assert.equal(here.seen.length + there.seen.length, 1)
    })

    testWith('FLEET', 'knows everywhere what is desired, and how everybody is', async (scene) => {
      scene.join('host-1')
      scene.join('host-2', () => ({}), scene.other)
      await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.equal(await scene.other.desired(target), 'PAUSED')
      for (const control of [scene.control, scene.other]) {
        const names = (await control.statuses()).map(({ instance }) => instance)
        assert.deepEqual(names.toSorted(), ['host-1', 'host-2'])
      }
    })
  })
}
