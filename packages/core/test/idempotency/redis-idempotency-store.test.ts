import { ArgumentError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { createRedisIdempotencyStore } from '../../src/idempotency/redis-idempotency-store.ts'

/** A Redis that records commands and returns the given response. */
function recorder(answer: unknown) {
  const sent: string[][] = []
  const send = async (command: string[]): Promise<unknown> => {
    sent.push(command)
    return answer
  }
  return { sent, ioredis: { call: (...command: string[]) => send(command) }, nodeRedis: { sendCommand: send } }
}

describe.each(['ioredis', 'nodeRedis'] as const)('through %s', (shape) => {
  test('a mark expires on its own, and is repeatable', async () => {
    const redis = recorder('OK')
    const store = createRedisIdempotencyStore(redis[shape], { prefix: 'p:', retentionMs: 5_000 })
    await store.mark('shipping', 'event-1')
    expect(redis.sent).toEqual([['SET', 'p:8:shipping:event-1', '1', 'PX', '5000']])
  })

  test.each([
    [1, true],
    [0, false],
    ['1', true],
  ])('the answer %o to EXISTS means seen: %o', async (answer, seen) => {
    const redis = recorder(answer)
    expect(await createRedisIdempotencyStore(redis[shape]).seen('shipping', 'event-1')).toBe(seen)
    expect(redis.sent).toEqual([['EXISTS', 'waybill:idempotency:8:shipping:event-1']])
  })
})

test('a failure is no answer', async () => {
  const broken = { call: async () => Promise.reject(new Error('READONLY')) }
  const store = createRedisIdempotencyStore(broken)
  await expect(store.seen('shipping', 'event-1')).rejects.toThrow('READONLY')
  await expect(store.mark('shipping', 'event-1')).rejects.toThrow('READONLY')
})

test.each([
  ['nothing', undefined, 'not undefined'],
  ['an address', 'redis://me:hunter2@host', 'not "redis://…@host"'],
  ['an object without either method', { call: 'EXISTS', sendCommand: true }, 'not an object'],
  ['a function, which has a call of its own', () => {}, 'not a function'],
])('%s is no client', (_, client, shown) => {
  const make = () => createRedisIdempotencyStore(client as never)
  expect(make).toThrow(ArgumentError)
  expect(make).toThrow(`createRedisIdempotencyStore takes a client of ioredis or node-redis, ${shown}.`)
})
