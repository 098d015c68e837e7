import assert from 'node:assert/strict'
import { type LogSuite, newest, pairs } from './shared-log-scene.ts'

/** Tests of appends. */
export function appendPart({ describe, test }: LogSuite): void {
  describe('an append', () => {
    test('is seen by every read that begins after it, in its order', async (scene) => {
      await scene.log.append([
        { key: 'a', value: { text: 'é 🙂 \u0000', n: 1.5, list: [true, null] } },
        { key: 'b', value: 'plain' },
      ])
      await scene.log.append([{ key: 'c', value: 3 }])
      for (const log of [scene.log, scene.other])
        assert.deepEqual(pairs((await scene.rest(log)).entries), [
          ['a', { text: 'é 🙂 \u0000', n: 1.5, list: [true, null] }],
          ['b', 'plain'],
          ['c', 3],
        ])
    })

    test('replaces the value of its key', async (scene) => {
      for (const value of [1, 2, 3]) await scene.log.append([{ key: 'a', value }])
      await scene.other.append([{ key: 'b', value: 4 }])
      const { entries } = await scene.rest(scene.log)
      assert.deepEqual(
        newest(entries),
        new Map([
          ['a', 3],
          ['b', 4],
        ]),
      )
    })

    test('of null deletes the key, and readers learn it', async (scene) => {
      await scene.log.append([{ key: 'a', value: 1 }])
      const { next } = await scene.rest(scene.other)
      await scene.log.append([{ key: 'a', value: null }])
      assert.deepEqual(pairs((await scene.rest(scene.other, next)).entries), [['a', null]])
    })

    test('tells keys apart by every character', async (scene) => {
      const keys = ['a', 'A', 'ä', 'a ', 'a/b', '["a","b"]', 'x'.repeat(600)]
      await scene.log.append(keys.map((key, value) => ({ key, value })))
      const { entries } = await scene.rest(scene.other)
      assert.deepEqual(
        pairs(entries),
        keys.map((key, value) => [key, value]),
      )
    })

    test('keeps a value of 200 KiB', async (scene) => {
      const value = 'ü'.repeat(100 * 1024)
      await scene.log.append([{ key: 'a', value }])
      assert.deepEqual(pairs((await scene.rest(scene.other)).entries), [['a', value]])
    })

    test('is refused with a key that is too long, or a value that is not JSON', async (scene) => {
      await assert.rejects(scene.log.append([{ key: 'x'.repeat(601), value: 1 }]), /1 to 600 characters/)
      await assert.rejects(scene.log.append([{ key: '', value: 1 }]), /1 to 600 characters/)
      await assert.rejects(scene.log.append([{ key: 'a', value: undefined }]), /not JSON/)
      assert.deepEqual((await scene.rest(scene.log)).entries, [])
    })

    test('has a position above those before it, and the time of the log', async (scene) => {
      for (const log of [scene.log, scene.other, scene.log]) await log.append([{ key: 'a', value: 1 }])
      await scene.log.append([{ key: 'b', value: 1 }])
      const { entries } = await scene.rest(scene.log)
      const positions = entries.map(({ position }) => BigInt(position))
      assert.deepEqual(
        positions,
        positions.toSorted((one, two) => (one < two ? -1 : 1)),
      )
      assert.equal(new Set(positions).size, positions.length)
      const times = entries.map(({ atMs }) => atMs)
      assert.deepEqual(
        times,
        times.toSorted((one, two) => one - two),
      )
    })
  })
}
