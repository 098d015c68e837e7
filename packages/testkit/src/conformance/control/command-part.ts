import assert from 'node:assert/strict'
import { StateError } from '@waybill/core'
import { type ControlSuite, requestOf, target } from './control-scene.ts'

/** Tests of commands and their answers. */
export function commandPart({ describe, test }: ControlSuite): void {
  describe('a command', () => {
    test('reaches the instance as it was given, once, and its answer comes back', async (scene) => {
      const { seen } = scene.join('host-1', () => ({ state: 'PAUSED' }))
      const answer = await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.deepEqual(seen, [requestOf({ type: 'PAUSE' })])
      assert.deepEqual(answer.instances, [{ instance: 'host-1', outcome: 'APPLIED', state: 'PAUSED' }])
    })

    test('carries what it says of deadlines and offsets', async (scene) => {
      const { seen } = scene.join()
      const skip = { type: 'SKIP', skip: { partition: 0, offsets: [2n ** 60n] } } as const
      await scene.control.submit(requestOf({ type: 'STOP', deadlineMs: 5 }))
      await scene.control.submit(requestOf(skip))
      assert.deepEqual(
        seen.map(({ command }) => command),
        [{ type: 'STOP', deadlineMs: 5 }, skip],
      )
    })

    test('is answered with the scope of the control, so that the caller knows which instances it reached', async (scene) => {
      scene.join()
      const { scope } = await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.equal(scope, scene.control.scope)
    })

    test('that fails is an answer too, with the reason', async (scene) => {
      scene.join('host-1', () => ({ outcome: 'FAILED', error: new StateError('it is stopped') }))
      const { instances } = await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.equal(instances[0]?.outcome, 'FAILED')
      assert.match(instances[0]?.error?.message ?? '', /it is stopped/)
    })

    test('brings back where positions went', async (scene) => {
      const positions = [{ topic: 'orders', partition: 0, from: 1n, to: 5n, skipped: 4n, repeated: 0n }]
      scene.join('host-1', () => ({ positions }))
      const { instances } = await scene.control.submit(requestOf({ type: 'SEEK', seek: { to: 'LATEST' } }))
      assert.deepEqual(instances[0]?.positions, positions)
    })

    test('comes behind those that were given before it', async (scene) => {
      const { seen } = scene.join()
      const types = ['PAUSE', 'RESUME', 'STOP', 'START', 'PAUSE'] as const
      await Promise.all(types.map((type) => scene.control.submit(requestOf({ type }))))
      assert.deepEqual(
        seen.map(({ command }) => command.type),
        types,
      )
    })

    test('does not wait for one of another binding', async (scene) => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      scene.join('host-1', async (request) => {
        if (request.target.binding === 'orders') await released
        return {}
      })
      const slow = scene.control.submit(requestOf({ type: 'STOP' }))
      await scene.control.submit(requestOf({ type: 'STOP' }, { ...target, binding: 'payments' }))
      release()
      await slow
    })
  })

  describe('an instance', () => {
    test('joins once', async (scene) => {
      scene.join()
      assert.throws(() => scene.join(), StateError)
    })

    test('that has left receives no more commands, and another one may join', async (scene) => {
      const gone = scene.join()
      gone[Symbol.dispose]()
      const { seen } = scene.join('host-2')
      const { instances } = await scene.control.submit(requestOf({ type: 'PAUSE' }))
      assert.deepEqual([gone.seen.length, seen.length], [0, 1])
      assert.deepEqual(
        instances.map(({ instance }) => instance),
        ['host-2'],
      )
    })

    test('shows how its bindings are while it is there', async (scene) => {
      const instance = scene.join()
      const [status, another] = await scene.control.statuses()
      assert.equal(another, undefined)
      assert.deepEqual([status?.instance, status?.isAlive, typeof status?.incarnation], ['host-1', true, 'string'])
      assert.deepEqual(
        [{ target: status?.target, state: status?.state, pausedBy: status?.pausedBy }],
        instance.statuses(),
      )
      instance[Symbol.dispose]()
      assert.deepEqual(await scene.control.statuses(), [])
    })

    test('without a binding is shown, and takes no command', async (scene) => {
      const observer = scene.join('host-1', () => ({}), scene.control, [])
      assert.deepEqual(await scene.control.statuses(), [])
      const [instance, another] = await scene.control.instances()
      assert.equal(another, undefined)
      assert.deepEqual([instance?.instance, instance?.isAlive, instance?.bindings], ['host-1', true, []])
      observer[Symbol.dispose]()
      assert.deepEqual(await scene.control.instances(), [])
    })
  })
}
