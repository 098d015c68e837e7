import { orderEvents } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { refusalsOf, resolved } from './test-binding.ts'

const handler = handleEvents(orderEvents(), { 'order.placed': () => {} })

describe('decode', () => {
  test('is off unless asked for', () => expect(resolved().decode).toBeUndefined())

  test.each([['json'], ['text'], [() => 1], [async () => 1], [z.object({})]])('takes %s', (decode) => {
    expect(resolved({ decode: decode as never }).decode).toBe(decode)
  })

  test.each([['JSON'], ['avro'], [{}], [5]])('refuses %j', (decode) => {
    expect(refusalsOf({ decode })).toEqual([
      expect.stringContaining("decode must be 'json', 'text', a function, or a Standard Schema"),
    ])
  })

  test('refuses handleEvents, which decodes by itself', () => {
    expect(refusalsOf({ decode: 'json', handler })).toEqual([
      expect.stringContaining('decode does not go with handleEvents'),
    ])
    expect(refusalsOf({ handler })).toEqual([])
  })
})
