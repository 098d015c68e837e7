import assert from 'node:assert/strict'
import { StateError } from '@waybill/core'
import type { SharedLog, SharedLogEntry } from '@waybill/core/internal'
import { type LogSuite, newest, pairs } from './shared-log-scene.ts'

/** Tests of reads. */
export function readPart({ describe, test }: LogSuite): void {
  describe('a read', () => {
    test('of an empty log is at its end', async (scene) => {
      const read = await scene.log.read(undefined, { waitMs: 0, signal: scene.signal })
      assert.deepEqual([read.entries, read.isAtEnd, read.isReset], [[], true, false])
    })

    test('continues where another one ended', async (scene) => {
      await scene.log.append([{ key: 'a', value: 1 }])
      const { next } = await scene.rest(scene.log)
      await scene.other.append([{ key: 'b', value: 2 }])
      assert.deepEqual(pairs((await scene.rest(scene.log, next)).entries), [['b', 2]])
      assert.deepEqual(pairs((await scene.rest(scene.other, next)).entries), [['b', 2]])
    })

    test('waits for an entry', async (scene) => {
      const { next } = await scene.rest(scene.log)
      const waiting = scene.log.read(next, { waitMs: 20_000, signal: scene.signal })
      await scene.runtime.timers.sleep(20)
      await scene.other.append([{ key: 'a', value: 1 }])
      const read = await waiting
      assert.deepEqual(pairs(read.entries), [['a', 1]])
    })

    test('answers without entries when none comes', async (scene) => {
      const { next } = await scene.rest(scene.log)
      const read = await scene.log.read(next, { waitMs: 50, signal: scene.signal })
      assert.deepEqual([read.entries, read.isAtEnd], [[], true])
      await scene.other.append([{ key: 'a', value: 1 }])
      assert.deepEqual(pairs((await scene.rest(scene.log, read.next)).entries), [['a', 1]])
    })

    test('ends with its signal, and the next one works', async (scene) => {
      const { next } = await scene.rest(scene.log)
      const stop = new AbortController()
      const waiting = scene.log.read(next, { waitMs: 20_000, signal: stop.signal })
      await scene.runtime.timers.sleep(20)
      stop.abort(new StateError('over'))
      await assert.rejects(waiting, /over/)
      await scene.log.append([{ key: 'a', value: 1 }])
      assert.deepEqual(pairs((await scene.rest(scene.log, next)).entries), [['a', 1]])
    })

    test('passes over nothing while several processes append', async (scene) => {
      const count = 40
      const appendAll = async (log: SharedLog, name: string): Promise<void> => {
        for (let index = 0; index < count; index++)
          await log.append([
            { key: `${name}/${index}`, value: index },
            { key: `last/${name}`, value: index },
          ])
      }
      let isOver = false
      const writing = Promise.all([
        appendAll(scene.log, 'one'),
        appendAll(scene.other, 'two'),
        appendAll(scene.log, 'three'),
      ]).finally(() => (isOver = true))
      const seen: SharedLogEntry[] = []
      let next: string | undefined
      for (let isLast = false; ; isLast = isOver) {
        const read = await scene.other.read(next, { waitMs: 5, signal: scene.signal })
        seen.push(...read.entries)
        next = read.next
        if (isLast && read.isAtEnd) break
      }
      await writing
      const expected = new Map<string, unknown>()
      for (const name of ['one', 'two', 'three']) {
        for (let index = 0; index < count; index++) expected.set(`${name}/${index}`, index)
        expected.set(`last/${name}`, count - 1)
      }
      const found = newest(seen)
      assert.deepEqual(
        [...found].toSorted(([one], [two]) => (one < two ? -1 : 1)),
        [...expected].toSorted(([one], [two]) => (one < two ? -1 : 1)),
      )
      for (const name of ['one', 'two', 'three']) {
        const own = seen.filter(({ key }) => key.startsWith(`${name}/`)).map(({ value }) => value)
        assert.deepEqual(
          own,
          Array.from({ length: count }, (_, index) => index),
          `${name} in its order`,
        )
      }
    })

    test('from the start learns every key of a long log', async (scene) => {
      const keys = Array.from({ length: 1_200 }, (_, index) => ({ key: `k${index}`, value: index }))
      for (let at = 0; at < keys.length; at += 300) await scene.log.append(keys.slice(at, at + 300))
      const { entries } = await scene.rest(scene.other)
      assert.deepEqual(
        entries.map(({ value }) => value),
        keys.map(({ value }) => value),
      )
    })
  })
}
