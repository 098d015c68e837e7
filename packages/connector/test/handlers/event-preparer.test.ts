import { Buffer } from 'node:buffer'
import {
  defineEvents,
  ParseError,
  SchemaViolationError,
  type StandardSchema,
  UnknownEventTypeError,
} from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { CorruptBatchError } from '@waybill/kafka/wire'
import { orderEvents } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { createInvocation } from '../../src/handlers/invocation.ts'
import type { Prepared } from '../../src/handlers/prepared.ts'
import { notStarted } from '../../src/handlers/prepared.ts'
import { DeserializationError } from '../../src/records/record-errors.ts'
import { fetched } from '../records/fetched.ts'
import { contextOf, placedRecord } from './order-events.ts'

type Handler = Parameters<typeof createInvocation>[0]['handler']

async function prepare(handler: Handler, record: KafkaRecord): Promise<Prepared> {
  return createInvocation({ handler })(record, 'SOURCE', 'shipping-group')
}

async function runnable(handler: Handler, record: KafkaRecord): Promise<Extract<Prepared, { kind: 'RUN' }>> {
  const prepared = await prepare(handler, record)
  if (prepared.kind !== 'RUN') throw new Error(`RUN was expected, not ${prepared.kind}.`)
  return prepared
}

async function poison(handler: Handler, record: KafkaRecord): Promise<Error> {
  const prepared = await prepare(handler, record)
  if (prepared.kind !== 'POISON') throw new Error(`POISON was expected, not ${prepared.kind}.`)
  return prepared.error
}

const ignore = (): void => {}

describe.each(['JSON', 'ENVELOPE', 'CLOUDEVENTS'] as const)('a record in %s', (wireFormat) => {
  test('reaches its handler as an event with the output of its schema', async () => {
    const events = orderEvents(wireFormat)
    const record = await placedRecord(events)
    const received: unknown[] = []
    const handler = handleEvents(events, {
      'order.placed': ({ id, name, version, key, payload }, context) => {
        received.push({ id, name, version, key, payload, record: context.record, attempt: context.attempt })
      },
    })
    const prepared = await runnable(handler, record)
    await prepared.run(contextOf(record))
    const payload = { orderId: 'o-1', placedAt: new Date('2026-01-01T00:00:00.000Z') }
    expect(received).toEqual([{ id: 'e-1', name: 'order.placed', version: 1, key: 'o-1', payload, record, attempt: 1 }])
  })
})

describe('S0-054 S2-041 a record that is no event of the catalog', () => {
  const events = orderEvents()
  const handler = handleEvents(events, { 'order.placed': ignore, 'order.cancelled': ignore })
  const changed = (change: Parameters<typeof placedRecord>[1]) => placedRecord(events, change)

  test.for([
    ['has no JSON', { value: Buffer.from('{"orderId":') }, ParseError],
    ['has no UTF-8', { value: Buffer.from([0xff, 0xfe]) }, ParseError],
    ['has no value', { value: null }, ParseError],
    ['C-35 announces base64 and has none', { header: ['payloadEncoding', 'base64'] }, ParseError],
    [
      'C-35 has bytes that are no JSON',
      { header: ['payloadEncoding', 'base64'], value: Buffer.from('"AAEC"') },
      ParseError,
    ],
    ['violates its schema', { value: Buffer.from('{"orderId":7}') }, SchemaViolationError],
    ['says no type', { header: ['eventType', ''] }, SchemaViolationError],
    ['is of an unknown type', { header: ['eventType', 'order.paid'] }, UnknownEventTypeError],
    ['is called like something every object has', { header: ['eventType', 'constructor'] }, UnknownEventTypeError],
  ] as const)('that %s is poison with its error, and keeps its bytes', async ([, change, expected]) => {
    const record = await changed(change)
    const before = [record.key, record.value].map((bytes) => bytes && Buffer.from(bytes))
    expect(await poison(handler, record)).toBeInstanceOf(expected)
    expect([record.key, record.value]).toEqual(before)
  })

  test('S0-157 names the key when it is the key that cannot be read', async () => {
    const error = await poison(handler, await changed({ key: Buffer.from([0xff]) }))
    expect(error).toBeInstanceOf(DeserializationError)
    expect(error).toMatchObject({ part: 'KEY', cause: expect.any(SchemaViolationError) })
  })

  test('is poison when its headers run over their record', async () => {
    const record = await changed({})
    const damaged = Object.create(record, {
      headers: {
        get: () => {
          throw new CorruptBatchError('a header runs over its record')
        },
      },
      key: { value: record.key },
      value: { value: record.value },
    }) as KafkaRecord
    expect(await poison(handler, damaged)).toBeInstanceOf(CorruptBatchError)
  })
})

describe('an event of the catalog without a handler', () => {
  const events = orderEvents()

  test('is unhandled, and its payload is not even parsed', async () => {
    const handler = handleEvents(events, { 'order.cancelled': ignore })
    const record = await placedRecord(events, { value: Buffer.from('not JSON') })
    expect(await prepare(handler, record)).toEqual({ kind: 'UNHANDLED' })
  })

  test('finds no handler in what every object has', async () => {
    const schema = orderEvents().definitions['order.cancelled'].schema
    const odd = defineEvents({
      constructor: { topic: 't', schema, key: () => null },
      plain: { topic: 't', schema, key: () => null },
    })
    // Every object has a constructor, which the type of the handlers takes for one of them.
    const handler = handleEvents(odd, { plain: ignore } as object)
    const headers = [
      ['id', Buffer.from('e-1')],
      ['eventType', Buffer.from('constructor')],
    ] as const
    const record = fetched({ topic: 't', key: null, value: Buffer.from('{}'), headers })
    expect(await prepare(handler, record)).toEqual({ kind: 'UNHANDLED' })
  })
})

const fails = () => {
  throw new Error('the look-up failed')
}

describe('a schema that fails instead of answering', () => {
  const answers: (() => { value: unknown })[] = []
  const schema: StandardSchema<unknown, unknown> = {
    '~standard': { version: 1, vendor: 'test', validate: async () => (answers.shift() as () => { value: unknown })() },
  }
  const events = defineEvents({ looked: { topic: 't', schema, key: () => null } })
  const record = fetched({
    topic: 't',
    key: null,
    value: Buffer.from('{}'),
    headers: [
      ['id', Buffer.from('e-1')],
      ['eventType', Buffer.from('looked')],
    ],
  })
  test('is no poison: the call fails, and the next one asks it again', async () => {
    const payloads: unknown[] = []
    const handler = handleEvents(events, { looked: ({ payload }) => void payloads.push(payload) })
    answers.push(fails, fails, () => ({ value: 'found' }))
    const prepared = await runnable(handler, record)
    await expect(prepared.run(contextOf(record))).rejects.toThrow('the look-up failed')
    expect(payloads).toEqual([])
    await prepared.run(contextOf(record, {}, {}, 2))
    expect(payloads).toEqual(['found'])
  })
})

describe('I15 a pause that comes while a schema is asked again', () => {
  test('keeps the handler from starting', async () => {
    const paused = new AbortController()
    const answers = [fails, fails, () => (paused.abort(), { value: 'found' })]
    const validate = async (): Promise<{ value: unknown }> => (answers.shift() as () => { value: unknown })()
    const schema: StandardSchema<unknown, unknown> = { '~standard': { version: 1, vendor: 'test', validate } }
    const events = defineEvents({ looked: { topic: 't', schema, key: () => null } })
    const headers = [
      ['id', Buffer.from('e-1')],
      ['eventType', Buffer.from('looked')],
    ] as const
    const record = fetched({ topic: 't', key: null, value: Buffer.from('{}'), headers })
    const handler = handleEvents(events, { looked: () => expect.fail('started') })
    const prepared = await runnable(handler, record)
    await expect(prepared.run(contextOf(record))).rejects.toThrow('the look-up failed')
    const context = Object.create(contextOf(record), { retrying: { value: paused.signal } }) as never
    await expect(prepared.run(context)).rejects.toBe(notStarted)
  })
})

describe('a handler that is called again', () => {
  test('gets the event as it came, whatever the call before did to it', async () => {
    const events = orderEvents()
    const record = await placedRecord(events)
    const seen: string[] = []
    const handler = handleEvents(events, {
      'order.placed': async ({ payload }) => {
        seen.push(payload.orderId)
        payload.orderId = 'changed'
        throw new Error('again')
      },
    })
    const prepared = await runnable(handler, record)
    for (const attempt of [1, 2, 3])
      await expect(prepared.run(contextOf(record, {}, {}, attempt))).rejects.toThrow('again')
    expect(seen).toEqual(['o-1', 'o-1', 'o-1'])
  })

  test('fails with what it throws, also when it throws before its first await', async () => {
    const events = orderEvents()
    const record = await placedRecord(events)
    const handler = handleEvents(events, {
      'order.placed': () => {
        throw new RangeError('at once')
      },
    })
    const prepared = await runnable(handler, record)
    await expect(prepared.run(contextOf(record))).rejects.toThrow(RangeError)
  })
})
