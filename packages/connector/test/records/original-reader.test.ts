import { Buffer } from 'node:buffer'
import type { KafkaRecord } from '@waybill/kafka'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { OriginalReader } from '../../src/records/original-reader.ts'
import type { RecordPage } from '../../src/records/read-record.ts'
import { recordOf } from '../delivery/work-of.ts'

const at = (offset: bigint, partition = 0) => ({ topic: 'orders', partition, offset })
const never = new AbortController().signal

/** A log whose reads return three records at a time, without offset 6. */
function scene(program: (scene: Scene) => Promise<void>, bytes = 100): Promise<void> {
  const runtime = createVirtualRuntime(1)
  return runtime.run(async () => {
    const reads: string[] = []
    const read = async (
      { partition, offset }: { partition: number; offset: bigint },
      until: bigint,
    ): Promise<RecordPage> => {
      reads.push(`${partition}@${offset}<${until}`)
      await runtime.timers.sleep(10)
      return {
        bytes,
        covers: (one) => one >= offset && one < offset + 3n,
        at: (one) => (one === 6n ? undefined : recordOf({ offset: one, value: Buffer.from(`${one}`) })),
      }
    }
    await program({ reader: new OriginalReader(read, runtime.timers), reads, sleep: (ms) => runtime.timers.sleep(ms) })
  })
}

interface Scene {
  readonly reader: OriginalReader
  readonly reads: readonly string[]
  readonly sleep: (ms: number) => Promise<void>
}

const offsetOf = (record: KafkaRecord | undefined): bigint | undefined => record?.offset

test('reads originals that lie side by side once, and those of other partitions on their own', () =>
  scene(async ({ reader, reads }) => {
    const offsets = [4n, 5n, 6n, 7n]
    const found = await Promise.all(offsets.map((offset) => reader.read(at(offset), 20n, never)))
    expect(found.map(offsetOf)).toEqual([4n, 5n, undefined, 7n])
    await reader.read(at(4n, 1), 30n, never)
    expect(reads).toEqual(['0@4<20', '0@7<20', '1@4<30'])
  }))

test('reads again after 5 s: the log may be another one', () =>
  scene(async ({ reader, reads, sleep }) => {
    await reader.read(at(4n), 20n, never)
    await sleep(4_900)
    await reader.read(at(5n), 20n, never)
    await sleep(200)
    await reader.read(at(5n), 20n, never)
    expect(reads).toEqual(['0@4<20', '0@5<20'])
  }))

test('I24 keeps no page of more than a mebibyte, and none of a ninth partition', async () => {
  await scene(async ({ reader, reads }) => {
    for (const offset of [4n, 5n]) await reader.read(at(offset), 20n, never)
    expect(reads).toHaveLength(2)
  }, 2 ** 21)
  await scene(async ({ reader, reads }) => {
    for (const offset of [4n, 5n])
      for (let partition = 0; partition < 9; partition++) await reader.read(at(offset, partition), 20n, never)
    expect(reads).toHaveLength(10)
  })
})

test('a read that waits for another one of its partition ends when its signal aborts', () =>
  scene(async ({ reader, reads }) => {
    const leaving = new AbortController()
    const first = reader.read(at(4n), 20n, never)
    const second = reader.read(at(9n), 20n, leaving.signal)
    leaving.abort(new Error('revoked'))
    await expect(second).rejects.toThrow('revoked')
    expect(offsetOf(await first)).toBe(4n)
    expect(reads).toHaveLength(1)
  }))
