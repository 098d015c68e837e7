import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { UnknownCommitError } from '../../src/database/database-errors.ts'
import { createMemoryRequestStore } from '../../src/idempotency/memory-request-store.ts'
import { createRequestIdempotency, type RequestSteps } from '../../src/idempotency/request-idempotency.ts'
import type { RequestIdempotencyOptions } from '../../src/idempotency/request-options.ts'
import type { RequestStore } from '../../src/idempotency/request-store.ts'
import { runtimeWith } from '../../src/runtime/runtime.ts'
import { createMemoryLogger } from '../../src/telemetry/memory-logger.ts'

const request = { caller: 'alice', key: 'key-1', body: { sku: 'A-1' } }

function scene(given: Partial<RequestIdempotencyOptions> = {}) {
  const logger = createMemoryLogger()
  const store = given.store ?? createMemoryRequestStore()
  const idempotency = createRequestIdempotency({ runtime: runtimeWith({ logger }), ...given, store })
  const orders = new Map<string, string>()
  const steps: RequestSteps<string> = {
    async create({ key }) {
      const order = `order-${orders.size + 1}`
      orders.set(key ?? order, order)
      return order
    },
    referenceOf: (order) => order,
    load: async (reference) => ([...orders.values()].includes(reference) ? reference : null),
  }
  return { idempotency, store, orders, steps, logger }
}

const find =
  (orders: Map<string, string>) =>
  async ({ key }: { readonly key: string | null }) =>
    orders.get(key ?? '') ?? null

const rollBack = () => Promise.reject(new Error('out of stock'))
const loseCommit = () => Promise.reject(new Error('wrapped', { cause: new UnknownCommitError(new Error('lost')) }))
const isDuplicate = (error: unknown) => (error as { code?: string }).code === '23505'

const down: RequestStore = {
  read: () => Promise.reject(new Error('connect ECONNREFUSED')),
  compareAndSet: () => Promise.reject(new Error('connect ECONNREFUSED')),
  compareAndDelete: () => Promise.reject(new Error('connect ECONNREFUSED')),
}

describe('the key of a request', () => {
  test.each([undefined, null, '', '  \t'])('S4-014 may be absent: %j runs each time', async (key) => {
    const { idempotency, steps } = scene()
    expect(await idempotency.run({ ...request, key }, steps)).toEqual({ result: 'order-1', isReplay: false })
    expect(await idempotency.run({ ...request, key }, steps)).toEqual({ result: 'order-2', isReplay: false })
  })

  test('S4-012 is trimmed', async () => {
    const { idempotency, steps } = scene()
    await idempotency.run({ ...request, key: '  key-1 ' }, steps)
    expect(await idempotency.run(request, steps)).toEqual({ result: 'order-1', isReplay: true })
  })

  test('S4-012 has at most 128 characters', async () => {
    const { idempotency, steps } = scene()
    await idempotency.run({ ...request, key: ` ${'k'.repeat(128)} ` }, steps)
    const refused = idempotency.run({ ...request, key: 'k'.repeat(129) }, steps)
    await expect(refused).rejects.toMatchObject({ code: 'WAYBILL_REQUEST_KEY_INVALID', statusCode: 400 })
  })

  test.each(['a\u0000b', 'a\nb', '\ud800', ['a', 'b'] as never])('is refused as %j', async (key) => {
    const { idempotency, steps, orders } = scene()
    await expect(idempotency.run({ ...request, key }, steps)).rejects.toMatchObject({
      code: 'WAYBILL_REQUEST_KEY_INVALID',
    })
    expect(orders.size).toBe(0)
  })

  test('needs a caller', async () => {
    const { idempotency, steps } = scene()
    for (const caller of ['', 'x'.repeat(257), 'a\u0000', undefined as never])
      await expect(idempotency.run({ ...request, caller }, steps)).rejects.toThrow('caller')
  })
})

describe('a mark', () => {
  test('S4-015 says COMPLETED only once create has resolved', async () => {
    const { idempotency, steps, store } = scene()
    const seen: (string | null)[] = []
    const names = '5:alice:key-1'
    await idempotency.run(request, {
      ...steps,
      async create(identified) {
        seen.push(await store.read(names))
        return steps.create(identified)
      },
    })
    seen.push(await store.read(names))
    expect(seen.map((mark) => JSON.parse(mark ?? '{}').status)).toEqual(['IN_PROGRESS', 'COMPLETED'])
  })

  test('S4-017 is kept for a minute while its request runs, and for a day once it is completed', async () => {
    const ttls: number[] = []
    const memory = createMemoryRequestStore()
    const store: RequestStore = {
      ...memory,
      compareAndSet: (name, expected, mark, ttlMs) => {
        ttls.push(ttlMs)
        return memory.compareAndSet(name, expected, mark, ttlMs)
      },
    }
    const { idempotency, steps } = scene({ store })
    await idempotency.run(request, steps)
    expect(ttls).toEqual([60_000, 86_400_000])
  })

  test('names the time after which a repeat is accepted', async () => {
    const { idempotency, steps } = scene({ inProgressTtlMs: 1_234 })
    const create = async (): Promise<string> => {
      const repeat = idempotency.run(request, steps)
      await expect(repeat).rejects.toMatchObject({ code: 'WAYBILL_REQUEST_IN_PROGRESS', statusCode: 409 })
      const { retryAfterMs } = (await repeat.catch((error) => error)) as { retryAfterMs: number }
      expect(retryAfterMs).toBeGreaterThanOrEqual(0)
      expect(retryAfterMs).toBeLessThanOrEqual(1_234)
      return 'order-1'
    }
    await idempotency.run(request, { ...steps, create })
  })

  test('S4-019 C-52 is released by a rollback, for the repeat at once', async () => {
    const { idempotency, steps, store } = scene()
    await expect(idempotency.run(request, { ...steps, create: rollBack })).rejects.toThrow('out of stock')
    expect(await store.read('5:alice:key-1')).toBeNull()
  })

  test('is kept while the outcome of the commit is unknown', async () => {
    const { idempotency, steps } = scene()
    await expect(idempotency.run(request, { ...steps, create: loseCommit })).rejects.toThrow('wrapped')
    await expect(idempotency.run(request, steps)).rejects.toMatchObject({ code: 'WAYBILL_REQUEST_IN_PROGRESS' })
  })

  test('that no version of this package wrote is a failure of the store', async () => {
    const { store } = scene()
    await store.compareAndSet('5:alice:key-1', null, 'V2|COMPLETED|order-1|0', 60_000)
    const { idempotency, steps } = scene({ store, onStoreFailure: 'REJECT' })
    const refused = idempotency.run(request, steps)
    await expect(refused).rejects.toMatchObject({ code: 'WAYBILL_REQUEST_STORE_UNAVAILABLE', statusCode: 503 })
  })
})

describe('the result', () => {
  test('S4-018 is found in the database where the mark was lost, and marked again', async () => {
    const { idempotency, steps, orders } = scene()
    orders.set('key-1', 'order-7')
    expect(await idempotency.run(request, { ...steps, find: find(orders) })).toEqual({
      result: 'order-7',
      isReplay: true,
    })
    expect(await idempotency.run(request, steps)).toEqual({ result: 'order-7', isReplay: true })
  })

  test('S4-018 is found after the unique key refused a second one', async () => {
    const { idempotency, steps, orders } = scene()
    const create = async () => {
      orders.set('key-1', 'of another process')
      throw Object.assign(new Error('duplicate key'), { code: '23505' })
    }
    const outcome = await idempotency.run(request, { ...steps, create, find: find(orders), isDuplicate })
    expect(outcome).toEqual({ result: 'of another process', isReplay: true })
  })

  test('is found after a commit without an answer', async () => {
    const { idempotency, steps, orders } = scene()
    const create = async () => {
      orders.set('key-1', 'order-1')
      throw new UnknownCommitError(new Error('lost'))
    }
    const outcome = await idempotency.run(request, { ...steps, create, find: find(orders) })
    expect(outcome).toEqual({ result: 'order-1', isReplay: true })
  })

  test('C-53 that cannot be loaded is a failure that may pass, and is not created again', async () => {
    const { idempotency, steps, orders } = scene()
    await idempotency.run(request, steps)
    orders.clear()
    const repeat = idempotency.run(request, steps)
    await expect(repeat).rejects.toMatchObject({ code: 'WAYBILL_REQUEST_RESULT_MISSING', statusCode: 503 })
    expect(orders.size).toBe(0)
  })

  test.each([
    ['throws', () => Promise.reject(new Error('no id')) as never],
    ['is no text', () => 7 as never],
    ['is too long', () => 'x'.repeat(32_001)],
  ])('is returned even if its reference %s: it is committed', async (_, referenceOf) => {
    const { idempotency, steps, logger } = scene()
    expect(await idempotency.run(request, { ...steps, referenceOf })).toEqual({ result: 'order-1', isReplay: false })
    expect(logger.lines.map(({ level }) => level)).toEqual(['ERROR'])
    await expect(idempotency.run(request, steps)).rejects.toMatchObject({ code: 'WAYBILL_REQUEST_IN_PROGRESS' })
  })
})

describe('a store that fails', () => {
  test('S4-020 lets requests proceed, and the database recognizes the repeat', async () => {
    const { idempotency, steps, orders, logger } = scene({ store: down })
    const found = { ...steps, find: find(orders) }
    expect(await idempotency.run(request, found)).toEqual({ result: 'order-1', isReplay: false })
    expect(await idempotency.run(request, found)).toEqual({ result: 'order-1', isReplay: true })
    expect(new Set(logger.lines.map(({ level }) => level))).toEqual(new Set(['WARN']))
  })

  test('rejects requests by option, before anything is done', async () => {
    const { idempotency, steps, orders } = scene({ store: down, onStoreFailure: 'REJECT' })
    const refused = idempotency.run(request, steps)
    await expect(refused).rejects.toMatchObject({ code: 'WAYBILL_REQUEST_STORE_UNAVAILABLE', statusCode: 503 })
    expect(orders.size).toBe(0)
  })

  test('does not hold a request up: a client may queue its commands for as long as the store is down', async () => {
    const silent: RequestStore = {
      read: () => new Promise(() => {}),
      compareAndSet: () => new Promise(() => {}),
      compareAndDelete: () => new Promise(() => {}),
    }
    const { idempotency, steps } = scene({ store: silent, storeTimeoutMs: 1 })
    expect(await idempotency.run(request, steps)).toEqual({ result: 'order-1', isReplay: false })
    await expect(idempotency.run(request, { ...steps, create: rollBack })).rejects.toThrow('out of stock')
  })

  test('leaves no mark behind when it sets one after its time, and the request failed', async () => {
    const memory = createMemoryRequestStore()
    const back = Promise.withResolvers<void>()
    const deleted = Promise.withResolvers<void>()
    let removals = 0
    const late: RequestStore = {
      ...memory,
      async compareAndSet(...given) {
        await back.promise
        return memory.compareAndSet(...given)
      },
      async compareAndDelete(...given) {
        const answer = await memory.compareAndDelete(...given)
        if (++removals === 2) deleted.resolve()
        return answer
      },
    }
    const { idempotency, steps } = scene({ store: late, storeTimeoutMs: 1 })
    await expect(idempotency.run(request, { ...steps, create: rollBack })).rejects.toThrow('out of stock')
    back.resolve()
    await deleted.promise
    expect(await memory.read('5:alice:key-1')).toBeNull()
  })

  test('asks the store once to delete a mark that expired while the request ran', async () => {
    const memory = createMemoryRequestStore()
    let removals = 0
    const counted: RequestStore = {
      ...memory,
      compareAndDelete(...given) {
        removals++
        return memory.compareAndDelete(...given)
      },
    }
    const { idempotency, steps } = scene({ store: counted })
    const create = async (): Promise<never> => {
      await memory.compareAndDelete('5:alice:key-1', (await memory.read('5:alice:key-1')) ?? '')
      throw new Error('out of stock')
    }
    await expect(idempotency.run(request, { ...steps, create })).rejects.toThrow('out of stock')
    await setImmediate()
    expect(removals).toBe(1)
  })

  test('leaves the mark of a later request alone', async () => {
    const { idempotency, steps, store } = scene()
    const create = async () => {
      // Its own mark expired, and another request set one.
      await store.compareAndDelete('5:alice:key-1', (await store.read('5:alice:key-1')) ?? '')
      await store.compareAndSet('5:alice:key-1', null, 'of another', 60_000)
      return 'order-1'
    }
    await idempotency.run(request, { ...steps, create })
    expect(await store.read('5:alice:key-1')).toBe('of another')
  })

  test('that lost the mark gets it back completed', async () => {
    const { idempotency, steps, store } = scene()
    const create: typeof steps.create = async (identified) => {
      await store.compareAndDelete('5:alice:key-1', (await store.read('5:alice:key-1')) ?? '')
      return steps.create(identified)
    }
    await idempotency.run(request, { ...steps, create })
    expect(await idempotency.run(request, steps)).toEqual({ result: 'order-1', isReplay: true })
  })

  test('whose answer to the own mark was lost does not refuse the request', async () => {
    const memory = createMemoryRequestStore()
    let calls = 0
    const repeating: RequestStore = {
      ...memory,
      async compareAndSet(...given) {
        const answer = await memory.compareAndSet(...given)
        return ++calls === 1 ? memory.compareAndSet(...given) : answer
      },
    }
    const { idempotency, steps } = scene({ store: repeating })
    expect(await idempotency.run(request, steps)).toEqual({ result: 'order-1', isReplay: false })
  })
})

describe('options', () => {
  test('refuse a store without its methods, and all else that is wrong with them', () => {
    const wrong = { store: {} as never, inProgressTtlMs: 0, storeTimeoutMs: -1 }
    expect(() => createRequestIdempotency(wrong)).toThrow(/store[^]*inProgressTtlMs|inProgressTtlMs[^]*store/)
  })

  test('name the database, so that a call inside an open transaction is refused', async () => {
    let isOpen = true
    const database = { ambient: { isTransactionActive: () => isOpen } } as never
    const { idempotency, steps, orders } = scene({ database })
    await expect(idempotency.run(request, steps)).rejects.toThrow('inside an open transaction')
    expect(orders.size).toBe(0)
    isOpen = false
    expect(await idempotency.run(request, steps)).toEqual({ result: 'order-1', isReplay: false })
  })
})

describe('the content of a request', () => {
  test.each([
    ['members in another order', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ['bytes and the same text', Buffer.from('{"a":1}'), '{"a":1}'],
    ['nothing', undefined, undefined],
  ])('is the same with %s', async (_, one, other) => {
    const { idempotency, steps } = scene()
    await idempotency.run({ ...request, body: one }, steps)
    expect(await idempotency.run({ ...request, body: other }, steps)).toEqual({ result: 'order-1', isReplay: true })
  })

  test.each([
    ['another order of a list', [1, 2], [2, 1]],
    ['a member more', { a: 1 }, { a: 1, b: null }],
    ['a text for an object', '{"a":1}', { a: 1 }],
    ['another type', { a: 1 }, { a: '1' }],
  ])('is another with %s', async (_, one, other) => {
    const { idempotency, steps } = scene()
    await idempotency.run({ ...request, body: one }, steps)
    const reused = idempotency.run({ ...request, body: other }, steps)
    await expect(reused).rejects.toMatchObject({ code: 'WAYBILL_REQUEST_KEY_REUSED', statusCode: 422 })
  })

  test('that JSON cannot express is refused', async () => {
    const { idempotency, steps } = scene()
    await expect(idempotency.run({ ...request, body: { a: 1n } }, steps)).rejects.toThrow('JSON')
  })
})
