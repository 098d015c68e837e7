import { Buffer } from 'node:buffer'
import { createRecordsBatch, Reader, readRecordsBatches } from '@platformatic/kafka'
import { type Compression, CorruptBatchError, encodeBatch, type RecordBatch, readBatches } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { crc32c } from '../../../src/wire/records/crc32c.ts'

const origin = { topic: 'orders', partition: 3, epoch: 7 }
const compressions: readonly Compression[] = ['NONE', 'GZIP', 'SNAPPY', 'LZ4', 'ZSTD']

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array))
const nullable = fc.option(bytes(60), { nil: null })
const name = fc.oneof(fc.constantFrom('', 'a', 'x-eventbus-id', 'ключ'), fc.string({ maxLength: 12, unit: 'grapheme' }))
const timestamp = fc.oneof(
  fc.integer({ min: 1_600_000_000_000, max: 1_900_000_000_000 }),
  fc.constantFrom(-1, 0, 1, 253_402_300_799_000),
)
const record = fc.record({
  key: nullable,
  value: fc.oneof(nullable, bytes(3_000)),
  headers: fc.array(
    fc.tuple(
      name.map((text) => Buffer.from(text)),
      nullable,
    ),
    { maxLength: 5 },
  ),
  timestamp,
})
const records = fc.array(record, { minLength: 1, maxLength: 40 })
type Input = typeof record extends fc.Arbitrary<infer T> ? T : never

function batchOf(encoded: Buffer): RecordBatch {
  const [batch, ...rest] = readBatches(encoded)
  if (batch === undefined || rest.length > 0) throw new Error('One batch was expected.')
  return batch
}

function plain(batch: RecordBatch, from = 0n) {
  return batch.records(origin, from).map((view) => ({
    key: view.key,
    value: view.value,
    headers: [...view.headers].map(([header, value]) => [header, value]),
    timestamp: view.timestamp,
    offset: view.offset,
  }))
}

function expected(inputs: readonly Input[], baseOffset = 0n) {
  return inputs.map(({ key, value, headers, timestamp: at }, index) => ({
    key,
    value,
    headers: headers.map(([header, content]) => [header.toString(), content]),
    timestamp: at,
    offset: baseOffset + BigInt(index),
  }))
}

/** Changes a batch as a broker may, and makes its checksum right again. */
function rewrite(encoded: Buffer, change: (batch: Buffer) => void): Buffer {
  const copy = Buffer.from(encoded)
  change(copy)
  copy.writeUInt32BE(crc32c(copy.subarray(21)), 17)
  return copy
}

const simple = (count: number): Input[] =>
  Array.from({ length: count }, (_, index) => ({
    key: Buffer.from(`k${index}`),
    value: Buffer.from(`v${index}`),
    headers: [],
    timestamp: 1_700_000_000_000 + index,
  }))

describe('a record batch', () => {
  test.each(compressions)('is read back as it was written with compression %s', (compression) => {
    fc.assert(
      fc.property(records, fc.bigInt({ min: 0n, max: 2n ** 62n }), (inputs, baseOffset) => {
        const encoded = encodeBatch(inputs, compression)
        encoded.writeBigInt64BE(baseOffset, 0) // As the broker does; the checksum leaves it out.
        const batch = batchOf(encoded)
        batch.verify()
        expect(batch.compression).toBe(compression)
        expect(batch.baseOffset).toBe(baseOffset)
        expect(batch.lastOffset).toBe(baseOffset + BigInt(inputs.length - 1))
        expect(batch.recordCount).toBe(inputs.length)
        expect(batch.maxTimestamp).toBe(Math.max(...inputs.map((input) => input.timestamp)))
        expect(plain(batch)).toEqual(expected(inputs, baseOffset))
      }),
      { numRuns: 100 },
    )
  })

  test('equals what the library writes of the same records', () => {
    // The library cannot write a header name twice or a null key, and writes timestamps wrongly that fall by 25 days.
    const plainRecord = fc.record({
      key: bytes(30),
      value: bytes(200),
      headers: fc.uniqueArray(
        fc.tuple(
          name.map((text) => Buffer.from(text)),
          bytes(20),
        ),
        {
          selector: ([header]) => header.toString(),
          maxLength: 4,
        },
      ),
      timestamp: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_100_000 }),
    })
    fc.assert(
      fc.property(fc.array(plainRecord, { minLength: 1, maxLength: 20 }), (inputs) => {
        const library = createRecordsBatch(
          inputs.map((input) => ({
            ...input,
            topic: 'orders',
            headers: new Map(input.headers),
            timestamp: BigInt(input.timestamp),
          })),
          { producerId: 5n, producerEpoch: 2, partitionLeaderEpoch: -1 },
        ).buffer
        const producer = { producerId: 5n, producerEpoch: 2, baseSequence: 0, isTransactional: false }
        expect(encodeBatch(inputs, 'NONE', producer).toString('hex')).toBe(library.toString('hex'))
      }),
    )
  })

  test.each(compressions)('with compression %s is read by the library as by us', (compression) => {
    fc.assert(
      fc.property(records, (inputs) => {
        const encoded = encodeBatch(inputs, compression)
        const [theirs] = readRecordsBatches(Reader.from(encoded))
        const first = BigInt(inputs[0]?.timestamp ?? 0)
        expect(
          theirs?.records.map((their) => ({
            key: their.key,
            value: their.value,
            headers: their.headers.map(([header, value]) => [header?.toString() ?? '', value]),
            timestamp: Number(first + their.timestampDelta),
            offset: BigInt(their.offsetDelta),
          })),
        ).toEqual(plain(batchOf(encoded)))
      }),
      { numRuns: 40 },
    )
  })

  test('names its producer and its transaction', () => {
    const producer = { producerId: 2n ** 60n, producerEpoch: 32_000, baseSequence: 2 ** 31 - 1, isTransactional: true }
    const batch = batchOf(encodeBatch(simple(2), 'LZ4', producer))
    const { producerId, producerEpoch, baseSequence, isTransactional, isControl } = batch
    expect({ producerId, producerEpoch, baseSequence, isTransactional, isControl }).toEqual({
      ...producer,
      isControl: false,
    })
    expect(batchOf(encodeBatch(simple(1))).producerId).toBe(-1n)
  })

  test('of which the broker stamped the time gives that time to every record', () => {
    const stamped = rewrite(encodeBatch(simple(3)), (batch) => {
      batch.writeInt16BE(batch.readInt16BE(21) | 0x08, 21)
      batch.writeBigInt64BE(1_800_000_000_000n, 35)
    })
    batchOf(stamped).verify()
    expect(plain(batchOf(stamped)).map((view) => view.timestamp)).toEqual(Array(3).fill(1_800_000_000_000))
  })

  test('tells of each record whether a header begins with some bytes, whatever else lies beside it', () => {
    const prefixes = ['x-eventbus-', 'a'].map((text) => Buffer.from(text))
    const value = fc.oneof(nullable, bytes(3_000), fc.constant(Buffer.from('x-eventbus-id in a value')))
    fc.assert(
      fc.property(fc.array(fc.record({ value, record }), { minLength: 1, maxLength: 40 }), (inputs) => {
        const encoded = encodeBatch(
          inputs.map((one) => ({ ...one.record, value: one.value })),
          'NONE',
        )
        const views = batchOf(encoded).records(origin, 0n)
        for (const prefix of [...prefixes, ...prefixes])
          expect(views.map((view) => view.hasHeaderStarting(prefix))).toEqual(
            inputs.map((one) => one.record.headers.some(([header]) => header.indexOf(prefix) === 0)),
          )
      }),
    )
  })

  test('that is read from its middle leaves out what came before', () => {
    const encoded = encodeBatch(simple(10))
    encoded.writeBigInt64BE(2n ** 53n + 1n, 0)
    const offsets = (from: bigint) => plain(batchOf(encoded), from).map(({ offset }) => offset - 2n ** 53n)
    expect(offsets(2n ** 53n + 8n)).toEqual([8n, 9n, 10n])
    expect(offsets(2n ** 53n + 11n)).toEqual([])
    expect(offsets(0n)).toHaveLength(10)
  })

  test('keeps the offsets of records that survived compaction', () => {
    // Two of five records are left: deltas 1 and 4 of a batch that still ends at 4.
    const survivors = rewrite(encodeBatch(simple(2)), (batch) => {
      batch.writeInt32BE(4, 23)
      batch[61 + 3] = 1 * 2
      batch[61 + 3 + 11] = 4 * 2
    })
    expect(plain(batchOf(survivors)).map(({ offset }) => offset)).toEqual([1n, 4n])
    expect(batchOf(survivors).lastOffset).toBe(4n)
  })

  test.each([
    [0, 'ABORT'],
    [1, 'COMMIT'],
    [2, 'OTHER'],
  ] as const)('of control type %d marks %s', (type, kind) => {
    const key = Buffer.from([0, 0, 0, type])
    const encoded = encodeBatch([{ key, value: Buffer.alloc(6), headers: [], timestamp: 0 }], 'NONE', {
      producerId: 1n,
      producerEpoch: 0,
      baseSequence: -1,
      isTransactional: true,
    })
    const control = batchOf(rewrite(encoded, (batch) => batch.writeInt16BE(0x30, 21)))
    expect(control.isControl).toBe(true)
    expect(control.controlKind()).toBe(kind)
  })

  test('tells from its checksum when a byte has changed', () => {
    const encoded = encodeBatch(simple(5), 'GZIP')
    fc.assert(
      fc.property(fc.integer({ min: 21, max: encoded.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const broken = Buffer.from(encoded)
        broken[at] = (broken[at] ?? 0) ^ flip
        expect(() => batchOf(broken).verify()).toThrow(CorruptBatchError)
      }),
    )
  })

  test.each([
    ['ends before it begins', (batch: Buffer) => batch.writeInt32BE(-1, 23)],
    ['has a negative offset', (batch: Buffer) => batch.writeBigInt64BE(-1n, 0)],
  ])('that %s is refused although its checksum is right', (_, change) => {
    expect(() => batchOf(rewrite(encodeBatch(simple(2)), change)).verify()).toThrow(CorruptBatchError)
  })

  test.each([
    ['more records than it has bytes', (batch: Buffer) => batch.writeInt32BE(2 ** 30, 57)],
    ['a negative number of records', (batch: Buffer) => batch.writeInt32BE(-1, 57)],
    ['one record more than it has', (batch: Buffer) => batch.writeInt32BE(3, 57)],
    ['a compression that does not exist', (batch: Buffer) => batch.writeInt16BE(7, 21)],
    ['offsets beyond its end', (batch: Buffer) => batch.writeInt32BE(0, 23)],
    ['packed data that is none', (batch: Buffer) => batch.writeInt16BE(3, 21)],
  ])('that claims %s is refused', (_, change) => {
    expect(() => batchOf(rewrite(encodeBatch(simple(2)), change)).records(origin, 0n)).toThrow(CorruptBatchError)
  })

  test('whose record ends before the number of its headers is refused', () => {
    const short = rewrite(encodeBatch([{ key: null, value: null, headers: [], timestamp: 0 }]), (batch) => {
      batch[61] = 2 * 5 // Without the last of its six bytes.
    })
    expect(() => batchOf(short).records(origin, 0n)).toThrow(CorruptBatchError)
  })

  test('whose headers do not fill their record says so when they are asked for', () => {
    const [view] = batchOf(
      rewrite(encodeBatch([{ key: null, value: null, headers: [], timestamp: 0 }]), (batch) => {
        batch[61 + 6] = 2 // One header, of which there is no byte.
      }),
    ).records(origin, 0n)
    expect(() => view?.headers).toThrow(CorruptBatchError)
  })
})

describe('a fetched slice of the log', () => {
  test('gives its whole batches and leaves out a last one that was cut off', () => {
    const one = encodeBatch(simple(3))
    fc.assert(
      fc.property(fc.nat(one.length - 1), (kept) => {
        const slice = Buffer.concat([one, one, one.subarray(0, kept)])
        expect([...readBatches(slice)].map(({ byteLength }) => byteLength)).toEqual([one.length, one.length])
      }),
    )
  })

  test.each([
    ['a length that no batch has', (batch: Buffer) => batch.writeInt32BE(10, 8)],
    ['a negative length', (batch: Buffer) => batch.writeInt32BE(-5, 8)],
    ['an older format', (batch: Buffer) => batch.writeInt8(1, 16)],
  ])('with %s is corrupt', (_, change) => {
    const slice = rewrite(encodeBatch(simple(1)), change)
    expect(() => [...readBatches(slice)]).toThrow(CorruptBatchError)
  })

  test('of hostile bytes ends in CorruptBatchError or in records, and nothing else', () => {
    const mutation = fc.record({ at: fc.nat(2_000), byte: fc.nat(255) })
    fc.assert(
      fc.property(
        records,
        fc.constantFrom(...compressions),
        fc.array(mutation, { minLength: 1, maxLength: 8 }),
        (inputs, compression, mutations) => {
          const hostile = rewrite(encodeBatch(inputs, compression), (batch) => {
            for (const { at, byte } of mutations) batch[21 + (at % (batch.length - 21))] = byte
          })
          readAll(hostile)
        },
      ),
      { numRuns: 1_500 },
    )
    fc.assert(
      fc.property(bytes(400), (noise) => readAll(Buffer.concat([encodeBatch(simple(1)).subarray(0, 17), noise]))),
      { numRuns: 500 },
    )
  })
})

/** Looks at everything there is to see; any error but the one that is meant fails the test. */
function readAll(slice: Buffer): void {
  try {
    for (const batch of readBatches(slice)) {
      batch.controlKind()
      plain(batch)
    }
  } catch (error) {
    if (!(error instanceof CorruptBatchError)) throw error
  }
}

/** The batch as a small part of a large response. */
function largeResponse(batch: Buffer): Buffer {
  const response = Buffer.allocUnsafeSlow(4 * 2 ** 20)
  batch.copy(response, 1_000)
  return response.subarray(1_000, 1_000 + batch.length)
}

describe('what a record keeps in memory', () => {
  test.each(compressions)('a small key, value or header of a batch with %s keeps no large response', (compression) => {
    const inputs = Array.from({ length: 2_000 }, (_, index) => ({
      key: Buffer.from(`key ${index}`),
      value: Buffer.from(`value ${index} ${'x'.repeat(100)}`),
      headers: [[Buffer.from('h'), Buffer.from('header')] as const],
      timestamp: 0,
    }))
    const views = batchOf(largeResponse(encodeBatch(inputs, compression))).records(origin, 0n)
    for (const view of views) {
      for (const kept of [view.key, view.value, [...view.headers][0]?.[1]]) {
        expect(kept?.buffer.byteLength).toBeLessThanOrEqual(32 * 1_024)
      }
    }
    expect(views.map((view) => view.key?.toString())).toEqual(inputs.map(({ key }) => key.toString()))
  })

  test('a lone small record keeps no large response', () => {
    const [view] = batchOf(largeResponse(encodeBatch(simple(1)))).records(origin, 0n)
    expect(view?.value?.buffer.byteLength).toBeLessThan(100)
  })

  test('a value that makes up much of the response is not copied', () => {
    const response = encodeBatch([{ key: null, value: Buffer.alloc(2 ** 20, 1), headers: [], timestamp: 0 }])
    const [view] = batchOf(response).records(origin, 0n)
    expect(view?.value?.buffer).toBe(response.buffer)
  })
})
