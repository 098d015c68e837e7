import { Buffer } from 'node:buffer'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { ValueDecoder } from '../../src/api/decode-option.ts'
import type { BatchHandler } from '../../src/api/handler-types.ts'
import { BatchDelivery } from '../../src/delivery/batch-delivery.ts'
import { BatchDecoding } from '../../src/delivery/decode-batch.ts'
import type { Outcome } from '../../src/delivery/outcome.ts'
import { BatchProcessingError } from '../../src/handlers/batch-processing-error.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { deliveryScene } from './delivery-scene.ts'
import { batchOf, recordOf } from './work-of.ts'

const away = (): Error => Object.assign(new Error('the registry is away'), { code: 'ECONNREFUSED' })

/** Upper case is decoded to lower case; `!` cannot be decoded. */
const lower: ValueDecoder = (value) => {
  if (value.toString() === '!') throw new Error('no letter')
  return value.toString().toLowerCase()
}

/** Batches whose records are the letters of a text. */
function decodingScene(
  decode: ValueDecoder,
  given: Partial<Binding> = {},
  step: (values: readonly unknown[], call: number) => void = () => {},
) {
  const calls: string[] = []
  const handler: BatchHandler = {
    handleBatch(records) {
      const values = records.map(({ value }: { readonly value: unknown }) => value)
      calls.push(values.join(''))
      step(values, calls.length)
    },
  }
  const options = {
    listenerType: 'BATCH' as const,
    retry: { tier0: { maxAttempts: 2 } },
    ...given,
    decode: decode as never,
    handler,
  }
  const scene = deliveryScene(options)
  const binding = resolveBinding('orders', { topic: 'orders', groupId: 'group', ...options })
  const { handlerTimeoutMs } = binding
  const decoding = new BatchDecoding(decode, { handlerTimeoutMs, timers: scene.runtime.timers })
  const batchDelivery = new BatchDelivery(scene.delivery, decoding.wrap(handler), binding, scene.runtime.clock, {
    decoding,
  })
  return {
    ...scene,
    calls,
    deliver: async (letters: string, mayCallAgain = (): boolean => true): Promise<string> => {
      const works = Array.from(letters, (letter, offset) =>
        scene.workOf(recordOf({ offset: BigInt(offset), value: Buffer.from(letter) })),
      )
      scene.halt.isHalted = () => !mayCallAgain()
      const deliver = () => batchDelivery.deliver(batchOf(works), scene.scope)
      const outcomes = await scene.runtime.run(deliver)
      return outcomes === 'DONE' ? 'DONE' : outcomes.map(word).join(' ')
    },
  }
}

function word(outcome: Outcome): string {
  return 'cause' in outcome ? outcome.cause : outcome.kind === 'DEAD_LETTER' ? 'DEAD' : outcome.kind
}

describe('a batch of decoded records', () => {
  test('is one call with the values', async () => {
    const { deliver, calls } = decodingScene(lower)
    expect(await deliver('ABC')).toBe('DONE')
    expect(calls).toEqual(['abc'])
  })

  test('S0-158 leaves out records that cannot be decoded: they are dead, and the others share one call', async () => {
    const { deliver, calls, metrics } = decodingScene(lower)
    expect(await deliver('A!B!')).toBe('DONE DEAD DONE DEAD')
    expect(calls).toEqual(['ab'])
    expect(metrics.total('eventbus.records.failed', { exception: 'DeserializationError' })).toBe(2)
  })

  test('has no call where no record can be decoded', async () => {
    const { deliver, calls } = decodingScene(lower)
    expect(await deliver('!!')).toBe('DEAD DEAD')
    expect(calls).toEqual([])
  })

  test('ends before such a record with orderingMode STRICT, and the next batch begins with its dead letter', async () => {
    const { deliver, calls } = decodingScene(lower, { orderingMode: 'STRICT' })
    expect(await deliver('AB!C')).toBe('DONE DONE CANCELLED CANCELLED')
    expect(await deliver('!C')).toBe('DEAD CANCELLED')
    expect(calls).toEqual(['ab'])
  })

  test('leaves out what the filter rejects without decoding it', async () => {
    const { deliver, calls } = decodingScene(lower, { filter: ({ value }) => value?.toString() !== '!' })
    expect(await deliver('A!B')).toBe('DONE FILTERED DONE')
    expect(calls).toEqual(['ab'])
  })

  test('is decoded anew for each further call', async () => {
    const decoded: string[] = []
    const decode: ValueDecoder = (value) => {
      decoded.push(value.toString())
      return value.toString()
    }
    const { deliver, calls } = decodingScene(decode, {}, (_, call) => {
      if (call === 1) throw new BatchProcessingError(1)
    })
    expect(await deliver('ABC')).toBe('DONE DONE DONE')
    expect(calls).toEqual(['ABC', 'BC'])
    expect(decoded.join('')).toBe('ABCBC')
  })

  test('ends before a record whose decoder is unavailable; that one is delivered alone, and retried', async () => {
    let isAway = true
    const { deliver, calls } = decodingScene(
      async (value) => {
        if (isAway && value.toString() === 'B') throw away()
        return lower(value, recordOf())
      },
      { batchFailureStrategy: 'TIER_AND_CONTINUE' },
    )
    expect(await deliver('ABC')).toBe('DONE CANCELLED CANCELLED')
    expect(await deliver('BC')).toBe('RETRY CANCELLED')
    isAway = false
    expect(await deliver('BC')).toBe('DONE')
    expect(calls).toEqual(['a', 'bc'])
  })

  test('waits for a decoder as long as for a call', async () => {
    const { deliver, calls } = decodingScene(
      (value) => (value.toString() === 'B' ? new Promise(() => {}) : lower(value, recordOf())),
      { handlerTimeoutMs: 1_000, batchFailureStrategy: 'TIER_AND_CONTINUE' },
    )
    expect(await deliver('ABC')).toBe('DONE CANCELLED CANCELLED')
    expect(await deliver('B')).toBe('RETRY')
    expect(calls).toEqual(['a'])
  })

  test('I15 starts no call when a pause began while it was decoded, and books nothing', async () => {
    let isPaused = false
    const { deliver, calls, metrics } = decodingScene(async (value) => {
      isPaused = true
      return lower(value, recordOf())
    })
    expect(await deliver('A!B', () => !isPaused)).toBe('CANCELLED CANCELLED CANCELLED')
    expect(calls).toEqual([])
    expect(metrics.total('eventbus.records.failed', {})).toBe(0)
  })

  test('I14 ends the wait for a decoder when its partition is revoked', async () => {
    const { deliver, calls, scope, runtime } = decodingScene(() => new Promise(() => {}))
    runtime.timers.schedule(50, () => scope.beginDraining())
    expect(await deliver('AB')).toBe('CANCELLED CANCELLED')
    expect(calls).toEqual([])
  })
})
