import { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import { KafkaError, type KafkaRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { ReadOriginal } from '../../src/records/original-reader.ts'
import { deliveryScene } from './delivery-scene.ts'
import { recordOf } from './work-of.ts'

const original = recordOf({ offset: 4n })
const skipped = { kind: 'SKIP', cause: 'FOREIGN_GROUP', failure: undefined }

function replayOf(offset: string, value = 'value'): KafkaRecord {
  const texts = [
    ['x-eventbus-original-topic', 'orders'],
    ['x-eventbus-original-partition', '0'],
    ['x-eventbus-original-offset', offset],
    ['x-eventbus-consumer-group', 'others'],
    ['x-eventbus-replay-count', '1'],
  ] as const
  return recordOf({ offset: 5n, value: Buffer.from(value), headers: RecordHeaders.from(texts) })
}

function scene(readOriginal: ReadOriginal) {
  let calls = 0
  const handler = (): void => void calls++
  return { ...deliveryScene({ handler }, {}, readOriginal), calls: () => calls }
}

describe('a source record with the headers of a replay for another group', () => {
  test('is skipped when it equals the record that it names', async () => {
    const { deliver, workOf, calls } = scene(async () => original)
    expect(await deliver(workOf(replayOf('4')))).toEqual(skipped)
    expect(calls()).toBe(0)
  })

  test.each<[string, ReadOriginal, KafkaRecord]>([
    ['the record that it names differs', async () => original, replayOf('4', 'forged')],
    ['the record that it names is gone', async () => undefined, replayOf('4')],
    ['it names itself', async () => replayOf('5'), replayOf('5')],
  ])('is delivered when %s (forged replay header)', async (_, readOriginal, record) => {
    const { deliver, workOf, calls, logger } = scene(readOriginal)
    expect(await deliver(workOf(record))).toEqual({ kind: 'DONE' })
    expect(calls()).toBe(1)
    expect(logger.lines.map(({ text }) => text)).toContain('Replay for another group not verified, delivered')
  })

  test('is compared once its original can be read again', async () => {
    let reads = 0
    const { deliver, workOf, calls } = scene(async () => {
      if (++reads < 4) throw new KafkaError('The leader is elected.', 'RETRIABLE')
      return original
    })
    expect(await deliver(workOf(replayOf('4')))).toEqual(skipped)
    expect([reads, calls()]).toEqual([4, 0])
  })

  test.each<[string, ReadOriginal]>([
    ['fails', async () => Promise.reject(new KafkaError('The batch is too large.', 'FATAL'))],
    ['hangs', () => new Promise(() => {})],
  ])('is delivered when the read %s for 30 s', async (_, readOriginal) => {
    const { deliver, workOf, calls, runtime } = scene(readOriginal)
    expect(await deliver(workOf(replayOf('4')))).toEqual({ kind: 'DONE' })
    expect(calls()).toBe(1)
    expect(runtime.clock.monotonic()).toBeCloseTo(30_000, -2)
  })

  test('stays undecided when its partition is revoked during the read', async () => {
    const { deliver, workOf, calls, scope, runtime } = scene(() => new Promise(() => {}))
    runtime.timers.schedule(50, () => scope.beginDraining())
    expect(await deliver(workOf(replayOf('4')))).toEqual({ kind: 'PAUSE', cause: 'CANCELLED', failure: undefined })
    expect(calls()).toBe(0)
  })
})
