import assert from 'node:assert/strict'
import type { ControlTarget, DesiredState } from '@waybill/connector/internal'
import { StateError } from '@waybill/core'
import { type ControlSuite, requestOf, target } from './control-scene.ts'

const left: readonly (readonly ['START' | 'STOP' | 'PAUSE' | 'RESUME' | 'DESTROY' | 'UNREGISTER', DesiredState?])[] = [
  ['START', 'RUNNING'],
  ['RESUME', 'RUNNING'],
  ['PAUSE', 'PAUSED'],
  ['STOP', 'STOPPED'],
  ['DESTROY'],
  ['UNREGISTER'],
]

/** Targets other than {@link target}, including those that a careless key confuses with it. */
const others: readonly (readonly [title: string, other: ControlTarget])[] = [
  ['cluster', { ...target, cluster: 'second' }],
  ['group', { ...target, groupId: 'billing' }],
  ['binding', { ...target, binding: 'payments' }],
  ['case', { ...target, binding: 'Orders' }],
  ['where a name ends', { cluster: 'default:shipping', groupId: 'orders', binding: '' }],
]

/** Tests of the stored desired state, which instances that join later read. */
export function desiredPart({ describe, test }: ControlSuite): void {
  describe('what is desired', () => {
    test('is nothing before anybody has said something', async ({ control }) => {
      assert.equal(await control.desired(target), undefined)
    })

    for (const [type, state] of left)
      test(`is ${state ?? 'forgotten'} after ${type}`, async (scene) => {
        scene.join()
        await scene.control.submit(requestOf({ type: type === 'PAUSE' ? 'STOP' : 'PAUSE' }))
        await scene.control.submit(requestOf({ type }))
        assert.equal(await scene.control.desired(target), state)
      })

    test('is which tiers are paused, too, until a stop', async (scene) => {
      scene.join()
      for (const tier of [3, 1, 2, 1]) await scene.control.submit(requestOf({ type: 'PAUSE_TIER', tier }))
      await scene.control.submit(requestOf({ type: 'RESUME_TIER', tier: 2 }))
      assert.equal(await scene.control.desired(target), undefined)
      assert.deepEqual(scene.control.pausedTiers(target), [1, 3])
      for (const type of ['PAUSE', 'RESUME'] as const) await scene.control.submit(requestOf({ type }))
      assert.equal(await scene.control.desired(target), 'RUNNING')
      assert.deepEqual(scene.control.pausedTiers(target), [1, 3])
      await scene.control.submit(requestOf({ type: 'STOP' }))
      await scene.control.desired(target)
      assert.deepEqual(scene.control.pausedTiers(target), [])
    })

    for (const type of ['DESTROY', 'UNREGISTER'] as const)
      test(`has no paused tiers after ${type}`, async (scene) => {
        scene.join()
        await scene.control.submit(requestOf({ type: 'PAUSE_TIER', tier: 1 }))
        await scene.control.submit(requestOf({ type }))
        await scene.control.desired(target)
        assert.deepEqual(scene.control.pausedTiers(target), [])
      })

    test('has no paused tier whose pause was refused', async (scene) => {
      scene.join('host-1', () => ({ outcome: 'FAILED', error: new StateError('it has no tiers') }))
      await scene.control.submit(requestOf({ type: 'PAUSE_TIER', tier: 1 }))
      await scene.control.desired(target)
      assert.deepEqual(scene.control.pausedTiers(target), [])
    })

    test('stays as it is when positions move', async (scene) => {
      scene.join()
      await scene.control.submit(requestOf({ type: 'STOP' }))
      await scene.control.submit(requestOf({ type: 'SEEK', seek: { to: 'EARLIEST' } }))
      await scene.control.submit(requestOf({ type: 'RESET', reset: { to: 'LATEST' } }))
      await scene.control.submit(requestOf({ type: 'SKIP', skip: { partition: 0, offsets: [1n] } }))
      assert.equal(await scene.control.desired(target), 'STOPPED')
    })

    for (const [title, other] of others)
      test(`is that of one binding, and not of another that differs in ${title}`, async (scene) => {
        scene.join()
        await scene.control.submit(requestOf({ type: 'PAUSE' }))
        assert.equal(await scene.control.desired(other), undefined)
        await scene.control.submit(requestOf({ type: 'STOP' }, other))
        assert.equal(await scene.control.desired(target), 'PAUSED')
      })

    test('is not what was refused', async (scene) => {
      scene.join('host-1', () => ({ outcome: 'FAILED', error: new StateError('refused') }))
      await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.equal(await scene.control.desired(target), undefined)
    })

    test('is what came about, also where the command failed at its deadline', async (scene) => {
      scene.join('host-1', () => ({
        outcome: 'FAILED',
        state: 'STOPPED',
        error: new StateError('a handler does not end'),
      }))
      await scene.control.submit(requestOf({ type: 'STOP' }))
      assert.equal(await scene.control.desired(target), 'STOPPED')
    })

    test('outlives the instance that received it: the next one reads it', async (scene) => {
      scene.join()[Symbol.dispose]()
      const first = scene.join('host-2')
      await scene.control.submit(requestOf({ type: 'PAUSE' }))
      first[Symbol.dispose]()
      assert.equal(await scene.control.desired(target), 'PAUSED')
    })
  })
}
