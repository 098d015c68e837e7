import { OptionsError } from '@waybill/core'
import { listOptions } from '@waybill/core/option'
import { describe, expect, test } from 'vitest'
import {
  producerRules,
  resolveProducerOptions,
  resolveTransactionalProducerOptions,
  transactionalProducerRules,
} from '../../../src/client/producer/producer-options.ts'

describe('the presets of a producer', () => {
  test('EVENT repeats three times within 30 s, packs with lz4 and lingers 5 ms for 64 KiB', () => {
    expect(resolveProducerOptions('EVENT')).toMatchObject({
      retries: 3,
      retryBackoffMs: 100,
      deliveryTimeoutMs: 30_000,
      compression: 'LZ4',
      lingerMs: 5,
      batchBytes: 65_536,
    })
  })

  test('DEAD_LETTER repeats until the delivery timeout with one request in flight and no linger', () => {
    expect(resolveProducerOptions('DEAD_LETTER')).toMatchObject({
      retries: false,
      deliveryTimeoutMs: 30_000,
      lingerMs: 0,
      maxInFlightRequests: 1,
    })
  })

  test('a transaction repeats until the delivery timeout and may stay open for a minute', () => {
    expect(resolveTransactionalProducerOptions()).toMatchObject({ retries: false, transactionTimeoutMs: 60_000 })
  })

  test('an option replaces its default and leaves the others', () => {
    const options = resolveProducerOptions('EVENT', { lingerMs: 0, retries: false })
    expect(options).toEqual({ ...resolveProducerOptions('EVENT'), lingerMs: 0, retries: false })
    expect(Object.isFrozen(options)).toBe(true)
  })

  test('every default says why it is what it is', () => {
    for (const rules of [...Object.values(producerRules), transactionalProducerRules]) {
      expect(listOptions(rules).filter(({ because }) => because === undefined)).toEqual([])
    }
  })
})

describe('options of a producer that cannot work', () => {
  test.each([
    { given: { maxBufferedBytes: 1_000 }, path: 'maxBufferedBytes' },
    { given: { requestTimeoutMs: 40_000 }, path: 'requestTimeoutMs' },
    { given: { requestTimeoutMs: 2 ** 31, deliveryTimeoutMs: 2 ** 32 }, path: 'requestTimeoutMs' },
    { given: { batchBytes: 2 ** 31, maxBufferedBytes: 2 ** 32 }, path: 'batchBytes' },
    { given: { maxRecordBytes: 2 ** 31, maxBufferedBytes: 2 ** 32 }, path: 'maxRecordBytes' },
    { given: { maxRequestBytes: 2 ** 31 }, path: 'maxRequestBytes' },
    { given: { retries: -1 }, path: 'retries' },
    { given: { compression: 'LZ5' as 'LZ4' }, path: 'compression' },
    { given: { linger: 5 } as object, path: 'linger' },
  ])('are refused by name: $path', ({ given, path }) => {
    expect(() => resolveProducerOptions('EVENT', given)).toThrow(OptionsError)
    expect(() => resolveProducerOptions('EVENT', given)).toThrow(path)
  })

  test('a transaction cannot stay open for longer than the wire can say', () => {
    expect(() => resolveTransactionalProducerOptions({ transactionTimeoutMs: 2 ** 31 })).toThrow('transactionTimeoutMs')
  })
})
