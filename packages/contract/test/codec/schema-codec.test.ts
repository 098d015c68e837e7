import { createAvroCodec, SchemaNotRegisteredError } from '@waybill/contract/codec'
import {
  createMemoryRegistry,
  RegistryUnavailableError,
  type SchemaDocument,
  SchemaNotFoundError,
  SchemaRefusedError,
  type SchemaRegistry,
} from '@waybill/contract/registry'
import { ParseError, runtimeWith, SchemaViolationError, systemRuntime } from '@waybill/core'
import { failureKindOf } from '@waybill/core/internal'
import avsc from 'avsc'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orderFormats } from './support/order-codecs.ts'

const order = { orderId: 'ö-1', total: 4200, lines: [{ sku: 's', count: 2 }] }

/** A registry that counts its calls, and gives no answer when it is told to. */
function watched(): SchemaRegistry & { calls: string[]; isDown: boolean } {
  const inner = createMemoryRegistry()
  const answer = async <T>(call: string, result: () => Promise<T>): Promise<T> => {
    registry.calls.push(call)
    if (registry.isDown) throw new RegistryUnavailableError('The registry is down.')
    return result()
  }
  const registry = {
    name: 'memory',
    calls: [] as string[],
    isDown: false,
    schemaById: (id: number) => answer(`id ${id}`, () => inner.schemaById(id)),
    lookUp: (...args: Parameters<SchemaRegistry['lookUp']>) => answer('look up', () => inner.lookUp(...args)),
    register: (...args: Parameters<SchemaRegistry['register']>) => answer('register', () => inner.register(...args)),
    version: (...args: Parameters<SchemaRegistry['version']>) => answer('version', () => inner.version(...args)),
    checkCompatibility: (...args: Parameters<SchemaRegistry['checkCompatibility']>) =>
      inner.checkCompatibility(...args),
  }
  return registry
}

/** A runtime whose sleeps take no time, and whose clock the test moves. */
function quick() {
  const time = { now: 0, sleeps: [] as number[] }
  const sleep = async (ms: number): Promise<void> => void time.sleeps.push(ms)
  const clock = { ...systemRuntime.clock, monotonic: () => time.now }
  return { time, runtime: runtimeWith({ clock, timers: { ...systemRuntime.timers, sleep } }) }
}

const framed = (id: number, hex: string): Buffer => {
  const head = Buffer.alloc(5)
  head.writeInt32BE(id, 1)
  return Buffer.concat([head, Buffer.from(hex, 'hex')])
}
const failureOf = async (work: () => unknown): Promise<unknown> => {
  try {
    await work()
  } catch (thrown) {
    return thrown
  }
  throw new Error('A failure was expected.')
}

describe.each(orderFormats)('a codec of $title', ({ codec, document, damaged, defaultNote }) => {
  const registered = async (...versions: (1 | 2 | 3)[]) => {
    const registry = watched()
    for (const version of versions) await registry.register('orders', document(version))
    registry.calls.length = 0
    return registry
  }
  const writer = (registry: SchemaRegistry, version: 1 | 2 | 3 = 1) => codec({ registry, subject: 'orders', version })

  test('reads what it wrote in another process, with one request for all values', async () => {
    const registry = await registered(1)
    const written = writer(registry)
    const bytes = await Promise.all([written.encode(order), written.encode(order)])
    expect(registry.calls).toEqual(['look up'])
    registry.calls.length = 0
    const reader = writer(registry)
    const values = await Promise.all([...bytes, ...bytes].map((each) => reader.decode(each)))
    expect(values).toEqual([order, order, order, order])
    expect(registry.calls).toEqual(['id 1'])
  })

  test('answers at once when it knows the schema', async () => {
    const registry = await registered(1)
    const known = writer(registry)
    const bytes = await known.encode(order)
    await known.decode(bytes)
    registry.isDown = true
    expect(known.decode(bytes)).toEqual(order)
    expect(known.encode(order)).toEqual(bytes)
  })

  test('reads older values with a newer schema, and newer values with an older one', async () => {
    const registry = await registered(1, 2, 3)
    const bytes = await writer(registry, 1).encode(order)
    const withNote = defaultNote === undefined ? {} : { note: defaultNote }
    expect(await writer(registry, 2).decode(bytes)).toEqual({ ...order, ...withNote })
    const { total: _, ...withoutTotal } = order
    expect(await writer(registry, 3).decode(bytes)).toEqual({ ...withoutTotal, ...withNote })
    const newer = await writer(registry, 2).encode({ ...order, note: 'fragile' })
    expect(await writer(registry, 1).decode(newer)).toEqual(order)
  })

  test('reads a value as it was written, for upcasters', async () => {
    const registry = await registered(1, 3)
    const bytes = await writer(registry, 1).encode(order)
    expect(await writer(registry, 3).decodeAsWritten(bytes)).toEqual(order)
  })

  test.each(damaged)('refuses %s for good, and names the member', async (_title, hex, problem) => {
    const registry = await registered(1)
    const thrown = await failureOf(() => writer(registry).decode(framed(1, hex)))
    expect(thrown).toBeInstanceOf(ParseError)
    expect((thrown as Error).message).toContain(problem)
    expect(failureKindOf(thrown)).toBe('PERMANENT')
  })

  test('reads or refuses damaged bytes, and fails in no other way', async () => {
    const registry = await registered(1)
    const reader = writer(registry)
    const bytes = await reader.encode(order)
    await reader.decode(bytes)
    const cuts = fc.record({ at: fc.nat(bytes.length - 6), flip: fc.integer({ min: 1, max: 255 }), cut: fc.boolean() })
    fc.assert(
      fc.property(fc.array(cuts, { minLength: 1, maxLength: 4 }), (damages) => {
        let copy = Buffer.from(bytes)
        for (const { at, flip, cut } of damages) {
          if (copy.length <= 6) break
          const place = 5 + (at % (copy.length - 5))
          if (cut) copy = copy.subarray(0, place)
          else copy.writeUInt8(copy.readUInt8(place) ^ flip, place)
        }
        try {
          reader.decode(copy)
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ParseError)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('reads or refuses random bytes, and fails in no other way', async () => {
    const registry = await registered(1)
    const reader = writer(registry)
    await reader.decode(await reader.encode(order))
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (random) => {
        try {
          reader.decode(Buffer.concat([framed(1, ''), random]))
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ParseError)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('reads every order that it wrote', async () => {
    const registry = await registered(2)
    const both = writer(registry, 2)
    await both.decode(await both.encode(order))
    const text = fc.string({ unit: 'grapheme' }).filter((each) => each.isWellFormed())
    const line = fc.record({ sku: text, count: fc.integer() })
    const any = fc.record({ orderId: text, total: fc.maxSafeInteger(), lines: fc.array(line), note: text })
    fc.assert(
      fc.property(any, (value) => {
        expect(both.decode(both.encode(value) as Buffer)).toEqual(value)
      }),
    )
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['a missing list', { orderId: 'a', total: 1, lines: 1 }, 'lines'],
    ['a text where an integer should be', { ...order, total: '1a' }, 'total'],
    ['an integer beyond its range', { ...order, lines: [{ sku: 's', count: 2 ** 31 }] }, 'lines[0].count'],
    ['a fraction', { ...order, total: 0.5 }, 'total'],
    ['an integer that is not exact', { ...order, total: 2 ** 53 }, 'total'],
    ['an undeclared member', { ...order, extra: 1 }, 'extra'],
    ['an undeclared member of a member', { ...order, lines: [{ sku: 's', count: 1, extra: 1 }] }, 'lines[0].extra'],
  ])('refuses to write %s', async (_title, payload, path) => {
    const written = writer(await registered(1))
    expect(written.violations(payload).map((violation) => violation.path)).toContain(path)
    expect(await failureOf(() => written.encode(payload))).toBeInstanceOf(SchemaViolationError)
  })

  test('has no integer that is rounded', async () => {
    const registry = await registered(1)
    const exact = codec({ registry, subject: 'orders', longs: 'STRING' })
    const value = { ...order, total: '9007199254740993' }
    const bytes = await exact.encode(value)
    expect(await exact.decode(bytes)).toEqual(value)
    const lowest = { ...order, total: '-9223372036854775808' }
    expect(await exact.decode(await exact.encode(lowest))).toEqual(lowest)
    expect(exact.violations({ ...order, total: '9223372036854775808' })).not.toEqual([])
    const thrown = await failureOf(() => writer(registry).decode(bytes))
    expect(thrown).toBeInstanceOf(ParseError)
    expect((thrown as Error).message).toContain(
      "at total: it is an integer that a number cannot hold; set longs: 'STRING'",
    )
  })

  test('waits for a registry that gives no answer, and asks it again', async () => {
    const registry = await registered(1)
    const bytes = await writer(registry).encode(order)
    const reader = writer(registry)
    registry.isDown = true
    for (const work of [() => reader.decode(bytes), () => reader.encode(order), () => reader.schemaId()]) {
      // oxlint-disable-next-line no-await-in-loop -- One call after another.
      const thrown = await failureOf(work)
      expect(thrown).toBeInstanceOf(RegistryUnavailableError)
      expect(failureKindOf(thrown)).toBe('EXTENDED')
    }
    registry.isDown = false
    expect(await reader.decode(bytes)).toEqual(order)
  })

  test('refuses an id that the registry does not have, after it asked twice, and asks again after a while', async () => {
    const { time, runtime } = quick()
    const registry = await registered(1)
    const reader = codec({ registry, subject: 'orders', runtime })
    const thrown = await failureOf(() => reader.decode(framed(77, '00')))
    expect(thrown).toBeInstanceOf(ParseError)
    expect((thrown as Error).message).toContain('was written with schema 77, which memory does not have')
    expect((thrown as Error).cause).toBeInstanceOf(SchemaNotFoundError)
    expect(registry.calls).toEqual(['id 77', 'id 77'])
    expect(time.sleeps).toEqual([500])
    await failureOf(() => reader.decode(framed(77, '00')))
    expect(registry.calls).toHaveLength(2)
    time.now += 30_000
    await failureOf(() => reader.decode(framed(77, '00')))
    expect(registry.calls).toHaveLength(4)
  })

  test('finds a schema that one node of the registry learns of a moment later', async () => {
    const { runtime } = quick()
    const registry = await registered(1)
    const bytes = await writer(registry).encode(order)
    let misses = 1
    const late = {
      ...registry,
      schemaById: async (id: number) => {
        if (misses-- > 0) throw new SchemaNotFoundError('Not yet.')
        return registry.schemaById(id)
      },
    }
    expect(await codec({ registry: late, subject: 'orders', runtime }).decode(bytes)).toEqual(order)
  })

  test('keeps no more schemas than it may', async () => {
    const registry = await registered(1, 2)
    const [first, second] = [await writer(registry, 1).encode(order), await writer(registry, 2).encode(order)]
    const reader = codec({ registry, subject: 'orders', maxSchemas: 1 })
    registry.calls.length = 0
    for (const bytes of [first, first, second, second, first]) await reader.decode(bytes)
    expect(registry.calls).toEqual(['id 1', 'id 2', 'id 1'])
  })

  test('keeps the schemas that were used last', async () => {
    const registry = await registered(1, 2, 3)
    const { total: _, ...withoutTotal } = order
    const [first, second] = [await writer(registry, 1).encode(order), await writer(registry, 2).encode(order)]
    const third = await writer(registry, 3).encode(withoutTotal)
    const reader = codec({ registry, subject: 'orders', version: 3, maxSchemas: 2 })
    registry.calls.length = 0
    for (const bytes of [first, second, first, third, first]) await reader.decode(bytes)
    expect(registry.calls).toEqual(['id 1', 'id 2', 'id 3'])
  })

  test('recognizes a frame without a payload, and nothing shorter', async () => {
    const reader = writer(await registered(1))
    expect(
      [framed(1, ''), framed(1, '').subarray(1), Buffer.from('{"a":1}')].map((each) => reader.recognizes?.(each)),
    ).toEqual([true, false, false])
  })

  test('waits for a schema that the registry refuses to register', async () => {
    const registry = await registered()
    const refusing = { ...registry, register: () => Promise.reject(new SchemaRefusedError('It breaks readers.')) }
    const thrown = await failureOf(() =>
      codec({ registry: refusing, subject: 'orders', registration: 'REGISTER' }).encode(order),
    )
    expect(thrown).toBeInstanceOf(SchemaNotRegisteredError)
    expect((thrown as Error).message).toContain('was refused')
  })

  test('refuses a schema of another format', async () => {
    const registry = await registered(1)
    await registry.register('json', { schemaType: 'JSON', schema: '{}', references: [] })
    const thrown = await failureOf(() => writer(registry).decode(framed(2, '00')))
    expect(thrown).toBeInstanceOf(ParseError)
    expect((thrown as Error).message).toContain('was written with schema 2, which cannot be used')
  })

  test('waits for a schema that nobody registered, and registers it itself if it may', async () => {
    const registry = await registered()
    const waiting = writer(registry)
    const thrown = await failureOf(() => waiting.encode(order))
    expect(thrown).toBeInstanceOf(SchemaNotRegisteredError)
    expect(failureKindOf(thrown)).toBe('EXTENDED')
    const registering = codec({ registry, subject: 'orders', registration: 'REGISTER' })
    const bytes = await registering.encode(order)
    expect(await waiting.encode(order)).toEqual(bytes)
  })

  test.each([
    ['too few bytes', Buffer.from([0, 0, 0, 1]), 'is 4 bytes long'],
    ['JSON text', Buffer.from('{"orderId":"a"}'), 'begins with byte 123'],
  ])('refuses %s without asking the registry', async (_title, bytes, problem) => {
    const registry = await registered(1)
    const thrown = await failureOf(() => writer(registry).decode(bytes))
    expect((thrown as Error).message).toContain(problem)
    expect(thrown).toBeInstanceOf(ParseError)
    expect(registry.calls).toEqual([])
  })
})

function referring(version: number): SchemaDocument {
  return {
    schemaType: 'AVRO',
    schema: '"string"',
    references: [{ name: `r${version}`, subject: 's', version: version + 1 }],
  }
}

test('refuses a value whose schema refers to schemas without end', async () => {
  const runtime = quick().runtime
  let asked = 0
  const endless: SchemaRegistry = {
    ...watched(),
    name: 'endless',
    schemaById: async () => referring(0),
    version: async (subject, version) => {
      asked += 1
      if (asked > 2_000) throw new RangeError('It does not end.')
      return { ...referring(Number(version)), subject, version: Number(version), id: Number(version) }
    },
  }
  const reader = createAvroCodec({ registry: endless, avro: avsc, subject: 's', schema: '"string"', runtime })
  const thrown = await failureOf(() => reader.decode(framed(1, '0261')))
  expect(thrown).toBeInstanceOf(ParseError)
  expect(((thrown as Error).cause as Error).message).toContain('more than 1000 schemas')
})
