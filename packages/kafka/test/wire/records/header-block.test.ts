import { Buffer } from 'node:buffer'
import { CorruptBatchError } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { headerFields } from '../../../src/client/producer/header-fields.ts'
import { encodeMeasured, fieldBytes } from '../../../src/wire/records/encode-batch.ts'
import { HeaderBlock, headerBlockAt } from '../../../src/wire/records/header-block.ts'
import { HeaderWriter, headerName } from '../../../src/wire/records/header-writer.ts'
import { readBatches } from '../../../src/wire/records/record-batch.ts'

type Pair = readonly [string, Buffer | null]

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const anyPairs = fc.array(fc.tuple(fc.string({ unit: 'grapheme', maxLength: 80 }), fc.option(bytes, { nil: null })), {
  maxLength: 20,
})

function blockOf(pairs: readonly Pair[], writer = new HeaderWriter()): HeaderBlock {
  writer.begin()
  for (const [name, value] of pairs) writer.pair(name, value)
  return writer.end()
}

const producer = { producerId: -1n, producerEpoch: -1, baseSequence: -1, isTransactional: false }

function batchWith(headers: ReturnType<typeof headerFields>): Buffer {
  const fields = { key: Buffer.from('k'), value: null, headerFields: headers }
  return encodeMeasured([{ ...fields, timestamp: 1, fieldBytes: fieldBytes(fields) }], 'NONE', producer)
}

describe('a header block', () => {
  test('has the headers that were written, block after block', () => {
    fc.assert(
      fc.property(fc.array(anyPairs, { maxLength: 5 }), (lists) => {
        const writer = new HeaderWriter()
        const blocks = lists.map((pairs) => blockOf(pairs, writer))
        expect(blocks.map((block) => [...block])).toEqual(lists)
        expect(blocks.map(({ count }) => count)).toEqual(lists.map(({ length }) => length))
      }),
    )
  })

  test('makes the batch that its pairs make, and is read back from it', () => {
    fc.assert(
      fc.property(anyPairs, (pairs) => {
        const block = blockOf(pairs)
        const batch = batchWith(headerFields(block))
        expect(batch.equals(batchWith(headerFields(pairs)))).toBe(true)
        const [record] = [...readBatches(batch)].flatMap((one) =>
          one.records({ topic: 't', partition: 0, epoch: 1 }, 0n),
        )
        expect([...(record?.headerBlock ?? [])]).toEqual(pairs)
        expect([...(record?.headers ?? [])]).toEqual(pairs)
      }),
    )
  })

  test('of more headers than one byte counts makes the batch that its pairs make', () => {
    const pairs = Array.from({ length: 64 }, (_, at): Pair => [`h${at}`, null])
    expect(batchWith(headerFields(blockOf(pairs))).equals(batchWith(headerFields(pairs)))).toBe(true)
  })

  test('fits its memory to the byte', () => {
    for (let length = 65_520; length < 65_540; length++) {
      const writer = new HeaderWriter()
      writer.begin()
      writer.text(headerName('n'), 'x'.repeat(length))
      expect([...writer.end()][0]?.[1]).toHaveLength(length)
    }
  })

  test('says of each header where it lies, so that it can be copied as it is', () => {
    const writer = new HeaderWriter()
    const pairs: Pair[] = [
      ['id', Buffer.from('7')],
      ['none', null],
      ['empty', Buffer.alloc(0)],
      ['long', Buffer.alloc(200, 'x')],
    ]
    const block = blockOf(pairs)
    writer.begin()
    block.visit((name, from, headerAt, valueAt, valueEnd) => {
      if (name !== 'empty') writer.copy(from, headerAt, Math.max(valueAt, valueEnd))
    })
    expect([...writer.end()]).toEqual(pairs.filter(([name]) => name !== 'empty'))
  })

  test.each([
    ['a name that runs over the end', [0x7e, 0x61], 1],
    ['a name of negative length', [0x01, 0x00], 1],
    ['a value that runs over the end', [0x02, 0x61, 0x7e], 1],
    ['fewer headers than its bytes', [0x02, 0x61, 0x00, 0x00], 1],
    ['more headers than its bytes', [0x02, 0x61, 0x00], 2],
  ])('with %s is corrupt', (_, content, count) => {
    expect(() => new HeaderBlock(count, Buffer.from(content), 0, content.length).pairs()).toThrow(CorruptBatchError)
  })

  test.each([[0x01], [0x7e]])('that claims an impossible count (%d) is corrupt', (count) => {
    expect(() => headerBlockAt(Buffer.from([count]), 0, 1, [])).toThrow(CorruptBatchError)
  })
})

describe('a header writer', () => {
  const name = headerName('n')

  test('writes numbers as decimal text', () => {
    const numbers = fc.oneof(fc.maxSafeNat(), fc.maxSafeInteger(), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n))
    fc.assert(
      fc.property(numbers, (value) => {
        const writer = new HeaderWriter()
        writer.begin()
        writer.number(name, value)
        expect([...writer.end()]).toEqual([['n', Buffer.from(String(value))]])
      }),
      { examples: [[0], [9], [10], [Number.MAX_SAFE_INTEGER], [2n ** 53n], [2n ** 63n - 1n]] },
    )
  })

  test('writes text as UTF-8, of any length', () => {
    const writer = new HeaderWriter()
    for (const text of ['', 'ключ', 'é'.repeat(5_000), '\ud83d', 'x'.repeat(200_000)]) {
      writer.begin()
      writer.text(name, text)
      expect([...writer.end()]).toEqual([['n', Buffer.from(text)]])
    }
  })

  test('forgets a block that was not ended', () => {
    const writer = new HeaderWriter()
    writer.begin()
    writer.text(name, 'forgotten')
    expect([...blockOf([['id', null]], writer)]).toEqual([['id', null]])
  })

  test('moves on to other memory in the midst of a block, and leaves those before it as they are', () => {
    const writer = new HeaderWriter()
    const pairs = Array.from({ length: 40 }, (_, index): Pair => [`header-${index}`, Buffer.alloc(700, index)])
    const blocks = Array.from({ length: 8 }, () => blockOf(pairs, writer))
    for (const block of blocks) expect([...block]).toEqual(pairs)
    expect(new Set(blocks.map((block) => block.bytes)).size).toBeGreaterThan(1)
  })
})
