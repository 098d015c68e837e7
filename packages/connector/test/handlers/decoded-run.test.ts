import { Buffer } from 'node:buffer'
import { describe, expect, test } from 'vitest'
import { type DecodedCall, prepareDecoded } from '../../src/handlers/decoded-run.ts'
import { notStarted, type PreparedRun } from '../../src/handlers/prepared.ts'
import { fetched, textRecord } from '../records/fetched.ts'
import { contextOf } from './order-events.ts'

const record = fetched(textRecord('orders', [['kind', 'new']], 'abc'), { partition: 2, offset: 41n })
const away = (): Error => Object.assign(new Error('the registry is away'), { code: 'ECONNREFUSED' })

/** Prepares the record and collects what its handler is called with. */
async function prepared(decoder: Parameters<typeof prepareDecoded>[1], of = record) {
  const calls: Parameters<DecodedCall>[] = []
  const run = await prepareDecoded(of, decoder, (...call) => void calls.push(call))
  return { run, calls, values: () => calls.map(([{ value }]) => value) }
}

function requireRun(given: { readonly kind: string }): PreparedRun {
  expect(given.kind).toBe('RUN')
  return given as PreparedRun
}

describe('S0-054 a record with a decoded value', () => {
  test('is the fetched record in everything else, and its context has the bytes', async () => {
    const { run, calls } = await prepared((value) => value.length)
    await requireRun(run).run(contextOf(record))
    const [[decoded, context]] = calls as [Parameters<DecodedCall>]
    const { topic, partition, offset, timestamp, epoch, key, headers, byteLength, value } = decoded
    expect({ topic, partition, offset, timestamp, epoch, key, headers }).toEqual({
      topic: 'orders',
      partition: 2,
      offset: 41n,
      timestamp: record.timestamp,
      epoch: record.epoch,
      key: record.key,
      headers: record.headers,
    })
    expect([byteLength, value, context.record]).toEqual([record.byteLength ?? 0, 3, record])
  })

  test('is decoded before the call, and anew for each further one: a failed call may have changed the value', async () => {
    let decodings = 0
    const { run, values } = await prepared(() => ({ decoding: ++decodings }))
    expect(decodings).toBe(1)
    const handler = requireRun(run)
    for (let call = 0; call < 3; call++) await handler.run(contextOf(record))
    expect(values()).toEqual([{ decoding: 1 }, { decoding: 2 }, { decoding: 3 }])
  })

  test('has null where the record has, without a call of the decoder', async () => {
    const tombstone = fetched(textRecord('orders', [], null))
    const { run, values } = await prepared(() => {
      throw new Error('called')
    }, tombstone)
    await requireRun(run).run(contextOf(tombstone))
    expect(values()).toEqual([null])
  })

  test.each([
    ['throws', (): never => expect.fail('bad bytes')],
    ['rejects', async () => Promise.reject(new Error('bad bytes'))],
  ])('is poison when the decoder %s', async (_, decoder) => {
    const { run, calls } = await prepared(decoder)
    expect(run).toMatchObject({ kind: 'POISON', error: { name: 'DeserializationError', part: 'VALUE' } })
    expect(calls).toEqual([])
  })

  test('is tried again by the call while the decoder depends on something unavailable', async () => {
    let failures = 2
    const { run, values } = await prepared(async (value) => {
      if (failures-- > 0) throw away()
      return value.toString()
    })
    const handler = requireRun(run)
    await expect(handler.run(contextOf(record))).rejects.toThrow('the registry is away')
    await handler.run(contextOf(record))
    expect(values()).toEqual(['abc'])
  })

  test.each([
    ['I3 is over', 'signal'],
    ['I15 is held by a pause', 'retrying'],
  ] as const)('is not handled when its call %s before the decoder answers', async (_, which) => {
    const over = new AbortController()
    let isFirst = true
    const { run, calls } = await prepared(async (value) => {
      if (isFirst) throw ((isFirst = false), away())
      over.abort(notStarted)
      return Buffer.from(value)
    })
    const context = Object.create(contextOf(record), { [which]: { value: over.signal } }) as ReturnType<
      typeof contextOf
    >
    await expect(requireRun(run).run(context)).rejects.toBe(notStarted)
    expect(calls).toEqual([])
  })
})
