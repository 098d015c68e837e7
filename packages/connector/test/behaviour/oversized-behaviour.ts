/** Tests batches above `maxBatchBytes` through a connector only, on a simulated cluster and on Apache Kafka. */

import { Buffer } from 'node:buffer'
import type { KafkaRecord } from '@waybill/kafka'
import { requireAllDone } from '@waybill/kafka'
import type { Compression } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import type { AuditRow } from '../../src/api/connector-report.ts'
import { readDeadLetter } from '../../src/records/dead-letter-record.ts'
import { type BehaviourPlace, BehaviourScene, type InPlace } from '../support/behaviour-scene.ts'

const mebibyte = 2 ** 20
const batchSize = 40

class Scene extends BehaviourScene {
  readonly handled: string[] = []

  start(binding: Partial<Binding>): Promise<Connector> {
    const handler = (record: KafkaRecord): void => {
      this.handled.push(String(record.value).slice(0, 10))
    }
    return this.startWith({ handler, maxBatchBytes: mebibyte, ...binding }, { derivedTopics: 'CREATE' })
  }

  /** Writes one small record after the other. */
  async small(values: readonly string[], partition = 0): Promise<void> {
    await using producer = this.place.client.producer('EVENT')
    for (const value of values)
      await producer.send({ topic: this.topic, partition, key: null, value: Buffer.from(value) })
  }

  /** Writes one record of zeros. */
  async huge(bytes: number): Promise<void> {
    const sizes = { batchBytes: 2 * bytes, maxRecordBytes: 2 * bytes, maxBufferedBytes: 4 * bytes }
    await using producer = this.place.client.producer('EVENT', { compression: 'ZSTD', ...sizes })
    await producer.send({ topic: this.topic, partition: 0, key: null, value: Buffer.alloc(bytes) })
  }

  /** Writes one batch of 40 records, two megabytes of zeros. */
  async large(compression: Compression, partition = 0): Promise<void> {
    const sizes = { batchBytes: 4 * mebibyte, maxRecordBytes: 4 * mebibyte, lingerMs: 100 }
    await using producer = this.place.client.producer('EVENT', { compression, ...sizes })
    const one = { topic: this.topic, partition, key: null, value: Buffer.alloc(50_000) }
    await Promise.all(Array.from({ length: batchSize }, () => producer.send(one)))
  }

  async letters(): Promise<readonly ReturnType<typeof readDeadLetter>[]> {
    const { client } = this.place
    const topic = `${this.topic}.DLT`
    const [view] = requireAllDone('topics', await client.admin.describeTopics([topic]))
    const places = (view?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
    const ends = requireAllDone('ends', await client.admin.listOffsets(places, 'LATEST'))
    await using reader = client.reader(
      ends.map(({ partition, offset }) => ({ topic, partition, from: 0n, until: offset ?? 0n })),
    )
    const letters: ReturnType<typeof readDeadLetter>[] = []
    for (let records = await reader.next(100); records !== undefined; records = await reader.next(100))
      letters.push(...records.map(readDeadLetter))
    return letters
  }

  async audit(connector: Connector, partition = 0): Promise<AuditRow | undefined> {
    return (await connector.audit()).find((row) => row.topic === this.topic && row.partition === partition)
  }

  /** Resolves when so many offsets are committed. */
  untilCommitted(connector: Connector, committed: bigint, partition = 0): Promise<void> {
    return this.until(async () => {
      const reached = (await this.audit(connector, partition))?.committed
      if (reached !== committed) throw new Error(`Committed up to ${reached}, not ${committed}`)
    })
  }
}

/** Declares the tests. */
export function testOversizedBatches(inPlace: InPlace): void {
  const inScene = (partitions: number, program: (scene: Scene) => Promise<void>): Promise<void> =>
    inPlace(async (place: BehaviourPlace) => {
      await using scene = new Scene(place, await place.createTopic(partitions))
      await program(scene)
    })

  test.each(['GZIP', 'SNAPPY', 'LZ4', 'ZSTD'] as const)(
    'a batch packed with %s is one dead letter that refers to it, and the partition continues behind it',
    (compression) =>
      inScene(1, async (scene) => {
        await scene.small(['a', 'b', 'c'])
        await scene.large(compression)
        await scene.small(['x', 'y'])
        const connector = await scene.start({ oversizedBatch: 'DEAD_LETTER' })
        await scene.untilCommitted(connector, 45n)
        expect(scene.handled).toEqual(['a', 'b', 'c', 'x', 'y'])
        expect(await scene.audit(connector)).toMatchObject({ ok: 5n, dead: 40n, retried: 0n, skipped: 0n, holes: 0n })
        expect((await scene.audit(connector))?.problem).toBeUndefined()
        const letters = await scene.letters()
        expect(
          letters.map(({ record, isBatch }) => [record.originalPartition, record.originalOffset, isBatch]),
        ).toEqual([[0, 3n, true]])
        const headers = letters[0]?.record.headers
        expect(headers?.text('x-eventbus-dlt-batch-last-offset')).toBe('42')
        expect(headers?.text('x-eventbus-dlt-batch-bytes')).toMatch(/^(>=)?\d{7}$/)
        expect(letters[0]?.record).toMatchObject({ key: null, value: null, dltReason: 'NON_RETRYABLE' })
        expect(connector.health().status).toBe('UP')
      }),
  )

  test('ten kilobytes that stand for 300 MB do not stop what lies behind them', () =>
    inScene(1, async (scene) => {
      await scene.small(['a'])
      await scene.huge(300_000_000)
      await scene.small(['z'])
      const connector = await scene.start({ oversizedBatch: 'DEAD_LETTER', maxBatchBytes: 256 * mebibyte })
      await scene.untilCommitted(connector, 3n)
      expect(scene.handled).toEqual(['a', 'z'])
      const [letter, ...others] = await scene.letters()
      expect(others).toEqual([])
      expect(letter?.record).toMatchObject({ originalOffset: 1n, dltReason: 'NON_RETRYABLE' })
      expect(Number(letter?.record.headers.text('x-eventbus-dlt-batch-bytes')?.replace('>=', ''))).toBeGreaterThan(3e8)
      expect(await scene.audit(connector)).toMatchObject({ ok: 2n, dead: 1n, holes: 0n })
    }))

  test('a batch halts its partition alone, health says where, and a larger limit continues in it', () =>
    inScene(2, async (scene) => {
      await scene.small(['a'])
      await scene.large('SNAPPY')
      await scene.small(['z'])
      const halted = await scene.start({})
      await scene.until(() => expect(halted.health().status).toBe('DOWN'))
      await scene.small(['b', 'c'], 1)
      await scene.untilCommitted(halted, 2n, 1)
      await scene.untilCommitted(halted, 1n, 0)
      const [reason] = halted.health().reasons
      expect(reason).toContain(`${scene.topic}-0: stopped at offset 1: The batch at offsets 1 to 40`)
      expect(reason).toMatch(/decompresses to 20\d{5} bytes/)
      expect(await scene.letters()).toEqual([])
      await halted.stop()
      const second = await scene.start({ maxBatchBytes: 64 * mebibyte })
      await scene.untilCommitted(second, 42n, 0)
      expect(scene.handled.toSorted().filter((value) => value.length === 1)).toEqual(['a', 'b', 'c', 'z'])
      expect(scene.handled).toHaveLength(4 + batchSize)
      expect(second.health().status).toBe('UP')
    }))

  test('a batch becomes a dead letter only when every record before it is settled', () =>
    inScene(1, async (scene) => {
      await scene.small(['a', 'b'])
      await scene.large('LZ4')
      await scene.small(['z'])
      const gate = Promise.withResolvers<void>()
      const handler = async ({ value }: KafkaRecord): Promise<void> => {
        if (String(value) === 'a') await gate.promise
        scene.handled.push(String(value))
      }
      const connector = await scene.start({ oversizedBatch: 'DEAD_LETTER', parallelism: 'UNORDERED', handler })
      await scene.until(() => expect(scene.handled).toEqual(['b']))
      await scene.place.runtime.timers.sleep(500)
      expect(await scene.letters()).toEqual([])
      gate.resolve()
      await scene.untilCommitted(connector, 43n)
      expect(scene.handled).toEqual(['b', 'a', 'z'])
      expect(await scene.letters()).toHaveLength(1)
    }))

  test('a batch of a batch listener is a dead letter between two of its batches', () =>
    inScene(1, async (scene) => {
      await scene.small(['a', 'b'])
      await scene.large('ZSTD')
      await scene.small(['z'])
      const connector = await scene.start({ oversizedBatch: 'DEAD_LETTER', listenerType: 'BATCH' })
      await scene.untilCommitted(connector, 43n)
      expect(scene.handled).toEqual(['a', 'b', 'z'])
      expect(await scene.audit(connector)).toMatchObject({ ok: 3n, dead: 40n })
    }))
}
