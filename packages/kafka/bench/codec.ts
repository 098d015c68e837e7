/**
 * The record codec beside the library's record objects, in one process: `node --conditions=@waybill/source
 * packages/kafka/bench/codec.ts [--json]`. Ratios are medians of interleaved rounds; absolute numbers are this machine's.
 *
 * Both decode a response of a megabyte, in batches of 64 KiB, as the socket gives it: in chunks of 64 KiB. Ours puts
 * the chunks together, checks the checksums and moves records off the response; the library does none of these.
 */

import { Buffer } from 'node:buffer'
import { createRecordsBatch, Reader, readRecordsBatches, Writer } from '@platformatic/kafka'
import type { RecordOrigin } from '../src/wire/records/batch-facts.ts'
import { type BatchInput, encodeBatch } from '../src/wire/records/encode-batch.ts'
import { readBatches } from '../src/wire/records/record-batch.ts'

const rounds = 9
const batchBytes = 64 * 1024
const batchesPerResponse = 16
const chunkBytes = 64 * 1024
const origin: RecordOrigin = { topic: 'bench', partition: 0, epoch: 0 }
/** Whatever is computed ends here, so that nothing is optimised away. */
let sink = 0

interface Shape {
  readonly name: string
  readonly valueBytes: number
  readonly headerCount: number
}
const shapes: readonly Shape[] = [
  { name: '100 B', valueBytes: 100, headerCount: 0 },
  { name: '100 B + 3 headers', valueBytes: 100, headerCount: 3 },
  { name: '1 KB', valueBytes: 1_000, headerCount: 0 },
]

function inputs({ valueBytes, headerCount }: Shape): BatchInput[] {
  const headers = Array.from(
    { length: headerCount },
    (_, index) => [Buffer.from(`x-header-${index}`), Buffer.from(`header value ${index}`)] as const,
  )
  return Array.from({ length: Math.floor(batchBytes / valueBytes) }, (_, index) => ({
    key: Buffer.from(`key-${index % 97}`),
    value: Buffer.alloc(valueBytes, `${index}|`),
    headers,
    timestamp: 1_700_000_000_000 + index,
  }))
}

interface Case {
  readonly name: string
  readonly records: number
  readonly ours: () => void
  readonly library: () => void
}

function cases(shape: Shape): Case[] {
  const records = inputs(shape)
  const responseRecords = records.length * batchesPerResponse
  const messages = records.map(({ key, value, headers, timestamp }) => ({
    topic: 'bench',
    key: key as Buffer,
    value: value as Buffer,
    headers: new Map(headers.map(([name, content]) => [name, content as Buffer])),
    timestamp: BigInt(timestamp),
  }))
  const bytes = Buffer.concat(Array.from({ length: batchesPerResponse }, () => encodeBatch(records)))
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, index) =>
    Buffer.from(bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes)),
  )
  const decodeAll = (visit: (record: ReturnType<typeof decode>[number]) => void): void => {
    for (const record of decode(Buffer.concat(chunks))) visit(record)
  }
  const libraryDecode = (): void => {
    const writer = Writer.create()
    for (const chunk of chunks) writer.append(chunk)
    for (const batch of readRecordsBatches(Reader.from(writer))) sink += batch.records.length
  }
  return [
    {
      name: `decode ${shape.name}, lazily`,
      records: responseRecords,
      ours: () => void (sink += decode(Buffer.concat(chunks)).length),
      library: libraryDecode,
    },
    {
      name: `decode ${shape.name}, key and value`,
      records: responseRecords,
      ours: () => decodeAll(({ key, value }) => (sink += (key?.length ?? 0) + (value?.length ?? 0))),
      library: libraryDecode,
    },
    {
      name: `decode ${shape.name}, everything`,
      records: responseRecords,
      ours: () =>
        decodeAll(({ key, value, headers }) => {
          sink += (key?.length ?? 0) + (value?.length ?? 0)
          for (const [name] of headers) sink += name.length
        }),
      library: libraryDecode,
    },
    {
      name: `encode ${shape.name}`,
      records: records.length,
      ours: () => void (sink += encodeBatch(records).length),
      library: () => void (sink += createRecordsBatch(messages).buffer.length),
    },
  ]
}

function decode(bytes: Buffer) {
  const batches = [...readBatches(bytes)]
  return batches.flatMap((batch) => {
    batch.verify()
    return batch.records(origin, 0n)
  })
}

/** Microseconds of CPU a record: on a machine that does other things too, the wall clock measures those. */
function measure(work: () => void, records: number): number {
  const before = process.cpuUsage()
  const startedAt = performance.now()
  let repetitions = 0
  do {
    work()
    repetitions++
  } while (performance.now() - startedAt < 100)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (repetitions * records)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

for (const { name, records, ours, library } of shapes.flatMap(cases)) {
  measure(ours, records)
  measure(library, records)
  const pairs = Array.from({ length: rounds }, () => [measure(ours, records), measure(library, records)] as const)
  const ratios = pairs.map(([own, other]) => other / own)
  const line = {
    bench: 'kafka-codec',
    case: name,
    unit: 'CPU us/record',
    value: Number(median(pairs.map(([own]) => own)).toFixed(3)),
    reference: '@platformatic/kafka',
    referenceValue: Number(median(pairs.map(([, other]) => other)).toFixed(3)),
    ratio: Number(median(ratios).toFixed(1)),
    spread: [Number(Math.min(...ratios).toFixed(1)), Number(Math.max(...ratios).toFixed(1))],
    runs: rounds,
  }
  const text = `${name.padEnd(38)} ${line.value} us, library ${line.referenceValue} us: ${line.ratio} times (${line.spread.join(' to ')})`
  process.stdout.write(`${process.argv.includes('--json') ? JSON.stringify(line) : text}\n`)
}
if (!Number.isFinite(sink)) throw new Error('Nothing was measured.')
