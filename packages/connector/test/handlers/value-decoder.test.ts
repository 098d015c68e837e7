import { Buffer } from 'node:buffer'
import { ParseError, SchemaViolationError, type StandardSchema } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createValueDecoder, isSchema, poisonOf } from '../../src/handlers/value-decoder.ts'
import { DeserializationError } from '../../src/records/record-errors.ts'
import { fetched, textRecord } from '../records/fetched.ts'

const record = fetched(textRecord('orders'))
const decoded = async (decode: Parameters<typeof createValueDecoder>[0], value: Buffer | string): Promise<unknown> =>
  createValueDecoder(decode)(Buffer.from(value as string), record)

describe('a decoder', () => {
  test('json parses UTF-8, and refuses other bytes, other text and a key __proto__', async () => {
    expect(await decoded('json', '{"a":[1]}')).toEqual({ a: [1] })
    for (const value of ['', '{', '<a/>', '{"__proto__":{}}', Buffer.from([0x22, 0xff, 0x22])])
      await expect(decoded('json', value)).rejects.toThrow(ParseError)
  })

  test('text is UTF-8, and no replacement characters', async () => {
    expect(await decoded('text', 'Grüße \uFFFD')).toBe('Grüße \uFFFD')
    expect(await decoded('text', '')).toBe('')
    await expect(decoded('text', Buffer.from([0x61, 0xff]))).rejects.toThrow('The value is not UTF-8.')
  })

  test('is a schema of JSON, whose output is the value', async () => {
    const schema = z.object({ at: z.coerce.date() })
    expect(await decoded(schema, '{"at":"2026-01-01"}')).toEqual({ at: new Date('2026-01-01') })
    await expect(decoded(schema, '{"at":"never"}')).rejects.toThrow(SchemaViolationError)
    await expect(decoded(schema, '{')).rejects.toThrow(ParseError)
  })

  test('is a schema also where that is a function', async () => {
    const schema: StandardSchema = Object.assign(() => 'called', {
      '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value: ['valid', value] }) } as const,
    })
    expect(isSchema(schema)).toBe(true)
    expect(await decoded(schema, '1')).toEqual(['valid', 1])
  })

  test('is a function of the bytes and the record', async () => {
    expect(await decoded((bytes, { topic }) => `${topic} ${bytes.length}`, 'abc')).toBe('orders 3')
  })

  test.each([[{}], [null], ['json'], [{ '~standard': {} }], [{ '~standard': null }], [() => {}]])(
    'is no schema: %s',
    (value) => {
      expect(isSchema(value)).toBe(false)
    },
  )
})

describe('the error of a decoder', () => {
  test('is the fault of the bytes unless it is known to pass', () => {
    const cause = new TypeError('no such field')
    expect(poisonOf(cause)).toEqual(new DeserializationError('VALUE', { cause }))
    expect(poisonOf(cause)?.happened).toBe('Cannot decode the value of the record: no such field')
    const parsing = new ParseError('The value is not JSON.', { hint: 'Correct its producer.' })
    expect(poisonOf(parsing)?.happened).toBe('Cannot decode the value of the record: The value is not JSON.')
    expect(poisonOf('thrown text')).toMatchObject({ part: 'VALUE', cause: 'thrown text' })
    expect(poisonOf(undefined)).toBeInstanceOf(DeserializationError)
  })

  test.each([
    ['a refused connection', Object.assign(new Error('no'), { code: 'ECONNREFUSED' })],
    ['an unavailable service', Object.assign(new Error('no'), { status: 503 })],
    ['a timeout inside of another error', new Error('registry', { cause: new DOMException('late', 'TimeoutError') })],
  ])('is that of something else: %s', (_, error) => {
    expect(poisonOf(error)).toBeUndefined()
  })
})
