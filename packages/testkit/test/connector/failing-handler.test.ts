import { ArgumentError } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { createFailingHandler, IntendedFailureError } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'
import { contextOf, recordAt } from './delivered.ts'

describe('a failing handler', () => {
  test('fails so often for each record, in whatever tier, and then succeeds', async () => {
    const handler = createFailingHandler(2)
    for (const offset of [7n, 8n]) {
      const record = recordAt(offset)
      await expect(handler(record, contextOf(record))).rejects.toThrow(IntendedFailureError)
      const moved = { ...recordAt(0n), topic: 'orders.retry-1' }
      const { original } = contextOf(record)
      await expect(handler(moved, contextOf(moved, { original, tier: 1 }))).rejects.toThrow('Failure 2 of 2')
      await handler(record, contextOf(record))
      await handler(record, contextOf(record))
    }
    expect([handler.calls.length, handler.handled.length]).toEqual([8, 4])
  })

  test('throws the given error, and does its work when it succeeds', async () => {
    const record = recordAt(7n)
    await expect(createFailingHandler(1, { error: 'a text' })(record, contextOf(record))).rejects.toBe('a text')
    const done: bigint[] = []
    const handler = createFailingHandler(1, {
      error: ({ offset }: KafkaRecord) => new RangeError(`offset ${offset}`),
      work: ({ offset }) => void done.push(offset),
    })
    await expect(handler(record, contextOf(record))).rejects.toThrow(new RangeError('offset 7'))
    await handler(record, contextOf(record))
    expect(done).toEqual([7n])
  })

  test('may fail always or never', async () => {
    const record = recordAt(7n)
    const hopeless = createFailingHandler(Number.POSITIVE_INFINITY)
    for (let call = 0; call < 20; call++) await expect(hopeless(record, contextOf(record))).rejects.toThrow('Failure')
    await createFailingHandler(0)(record, contextOf(record))
  })

  test('cannot fail less than never', () => {
    expect(() => createFailingHandler(-1)).toThrow(ArgumentError)
    expect(() => createFailingHandler(Number.NaN)).toThrow(ArgumentError)
  })
})
