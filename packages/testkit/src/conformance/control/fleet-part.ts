import assert from 'node:assert/strict'
import { StateError } from '@waybill/core'
import { until } from '../suite/until.ts'
import { type ControlSuite, requestOf, target } from './control-scene.ts'

/** Tests of a control that reaches more than one process. */
export function fleetPart({ describe, testWith }: ControlSuite): void {
  describe('a fleet', () => {
    testWith('FLEET', 'receives a command as one: each instance answers it, wherever it was given', async (scene) => {
      const here = scene.join('host-1')
      const there = scene.join('host-2', () => ({ outcome: 'FAILED', error: new StateError('busy') }), scene.other)
      await scene.knows('host-1', 'host-2')
      const { scope, instances } = await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.equal(scope, 'FLEET')
      assert.deepEqual([here.seen.length, there.seen.length], [1, 1])
      const outcomes = instances.map(({ instance, outcome }) => `${instance} ${outcome}`)
      assert.deepEqual(outcomes.toSorted(), ['host-1 APPLIED', 'host-2 FAILED'])
      const error = instances.find(({ instance }) => instance === 'host-2')?.error
      assert.match(error?.message ?? '', /busy/)
      assert.equal((error as Partial<StateError> | undefined)?.code, 'WAYBILL_STATE_INVALID')
    })

    testWith('FLEET', 'has one instance move positions: they are those of the group', async (scene) => {
      const here = scene.join('host-1')
      const there = scene.join('host-2', () => ({}), scene.other)
      await scene.knows('host-1', 'host-2')
      await scene.other.submit(requestOf({ type: 'SEEK', seek: { to: 'LATEST' } }))
      assert.equal(here.seen.length + there.seen.length, 1)
      for (const { told } of [here, there]) assert.deepEqual(told, ['AWAY', 'BACK'])
    })

    testWith('FLEET', 'comes back when positions cannot be moved', async (scene) => {
      const refused = new StateError('the offset is gone')
      const answer = () => ({ outcome: 'FAILED', error: refused }) as const
      const here = scene.join('host-1', answer)
      const there = scene.join('host-2', answer, scene.other)
      await scene.knows('host-1', 'host-2')
      await assert.rejects(
        scene.control.submit(requestOf({ type: 'SEEK', seek: { to: 'LATEST' } })),
        /the offset is gone/,
      )
      for (const { told } of [here, there]) assert.deepEqual(told, ['AWAY', 'BACK'])
    })

    testWith('FLEET', 'says of an instance that does not answer that it is unknown', async (scene) => {
      scene.join('host-1')
      scene.join('host-2', () => new Promise(() => {}), scene.other)
      await scene.knows('host-1', 'host-2')
      const { instances } = await scene.control.submit(requestOf({ type: 'PAUSE' }))
      const [own, silent] = instances
      assert.deepEqual([own?.instance, own?.outcome], ['host-1', 'APPLIED'])
      assert.deepEqual([silent?.instance, silent?.outcome, silent?.state], ['host-2', 'NO_ANSWER', 'RUNNING'])
      assert.equal(typeof silent?.lastSeenAtMs, 'number')
      assert.equal(await scene.control.desired(target), 'PAUSED')
    })

    testWith('FLEET', 'tells an instance that starts later what is desired', async (scene) => {
      scene.join('host-1')
      await scene.control.submit(requestOf({ type: 'STOP' }))
      scene.join('host-2', () => ({}), scene.other)
      assert.equal(await scene.other.desired(target), 'STOPPED')
    })

    testWith('FLEET', 'tells an instance that starts later which tiers are paused', async (scene) => {
      const first = scene.join('host-1')
      await scene.control.submit(requestOf({ type: 'PAUSE_TIER', tier: 2 }))
      first[Symbol.dispose]()
      scene.join('host-2', () => ({}), scene.other)
      assert.equal(await scene.other.desired(target), undefined)
      assert.deepEqual(scene.other.pausedTiers(target), [2])
    })

    testWith('FLEET', 'has an instance that missed the pause of a tier establish it, and its end', async (scene) => {
      scene.join('host-1')
      let isBusy = true
      const busy = { outcome: 'FAILED', error: new StateError('busy') } as const
      const late = scene.join('host-2', () => (isBusy ? busy : {}), scene.other)
      for (const control of [scene.control, scene.other]) await control.desired(target)
      await scene.knows('host-1', 'host-2')
      const hears = (...expected: readonly string[]): Promise<unknown> =>
        until(
          scene.subject.runtime,
          () => late.told,
          (told) => told.join('; ') === expected.join('; '),
        )
      await scene.control.submit(requestOf({ type: 'PAUSE_TIER', tier: 2 }))
      await hears('TIERS 2')
      await scene.control.submit(requestOf({ type: 'RESUME_TIER', tier: 2 }))
      await hears('TIERS 2', 'TIERS ')
      isBusy = false
      await scene.control.submit(requestOf({ type: 'PAUSE_TIER', tier: 1 }))
      await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.equal(await scene.other.desired(target), 'PAUSED')
      assert.deepEqual(late.told, ['TIERS 2', 'TIERS '])
    })

    testWith('FLEET', 'keeps what is desired when all who said it are gone', async (scene) => {
      const first = scene.join('host-1')
      await scene.control.submit(requestOf({ type: 'PAUSE' }))
      first[Symbol.dispose]()
      assert.equal(await scene.other.desired(target), 'PAUSED')
    })

    testWith('FLEET', 'takes commands of a process without an instance', async (scene) => {
      const { seen } = scene.join('host-1')
      scene.other.begin()
      await scene.knows('host-1')
      const { instances } = await scene.other.submit(requestOf({ type: 'PAUSE' }))
      assert.deepEqual(
        instances.map(({ instance, outcome }) => `${instance} ${outcome}`),
        ['host-1 APPLIED'],
      )
      assert.equal(seen.length, 1)
    })

    testWith('FLEET', 'follows two wishes at once in one order', async (scene) => {
      const here = scene.join('host-1')
      const there = scene.join('host-2', () => ({}), scene.other)
      await scene.knows('host-1', 'host-2')
      const types = ['PAUSE', 'RESUME', 'STOP', 'START'] as const
      await Promise.all(
        types.map((type, at) => (at % 2 === 0 ? scene.control : scene.other).submit(requestOf({ type }))),
      )
      const typesOf = (seen: typeof here.seen): readonly string[] => seen.map(({ command }) => command.type)
      assert.equal(here.seen.length, types.length)
      assert.deepEqual(typesOf(here.seen), typesOf(there.seen))
      const last = here.seen.at(-1)?.command.type
      const state = last === 'STOP' ? 'STOPPED' : last === 'PAUSE' ? 'PAUSED' : 'RUNNING'
      for (const control of [scene.control, scene.other]) assert.equal(await control.desired(target), state)
    })

    testWith('FLEET', 'has an instance that missed a command establish its state', async (scene) => {
      scene.join('host-1')
      await scene.control.submit(requestOf({ type: 'PAUSE' }))
      await scene.control.submit(requestOf({ type: 'RESUME' }))
      const late = scene.join('host-2', () => ({ outcome: 'FAILED', error: new StateError('busy') }), scene.other)
      assert.equal(await scene.other.desired(target), 'RUNNING')
      await scene.knows('host-1', 'host-2')
      await scene.control.submit(requestOf({ type: 'STOP' }))
      await until(
        scene.subject.runtime,
        () => late.told,
        (told) => told.join() === 'STOPPED',
      )
    })

    testWith('FLEET', 'shows instances without a binding everywhere, and asks the others alone', async (scene) => {
      scene.join('host-1')
      const observer = scene.join('host-2', () => ({}), scene.other, [])
      for (const control of [scene.control, scene.other])
        await until(
          scene.subject.runtime,
          async () => (await control.instances()).map(({ instance }) => instance).toSorted(),
          (names) => names.join() === 'host-1,host-2',
        )
      assert.equal((await scene.other.instances())[0]?.instance, 'host-2')
      const { instances } = await scene.other.submit(requestOf({ type: 'PAUSE' }))
      assert.deepEqual([instances.map(({ instance }) => instance), observer.seen], [['host-1'], []])
    })

    testWith('FLEET', 'knows everywhere what is desired, and how everybody is', async (scene) => {
      scene.join('host-1')
      scene.join('host-2', () => ({}), scene.other)
      await scene.knows('host-1', 'host-2')
      await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.equal(await scene.other.desired(target), 'PAUSED')
      for (const control of [scene.control, scene.other]) {
        const names = (await control.statuses()).map(({ instance }) => instance)
        assert.deepEqual(names.toSorted(), ['host-1', 'host-2'])
      }
    })
  })
}
