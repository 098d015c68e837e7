import { createContext, runInContext } from 'node:vm'
import {
  boolean,
  durationMs,
  func,
  instance,
  integer,
  list,
  mapOf,
  nested,
  number,
  OptionsError,
  oneOf,
  optional,
  orFalse,
  type Rules,
  resolveOptions,
  secret,
  text,
} from '@waybill/core/option'
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'

const binding = {
  topic: text({ pattern: /^[a-z.]+$/, called: 'a topic name' }),
  mode: oneOf(['KEEP', 'DELETE'], { default: 'KEEP', because: 'a row that is gone cannot be audited' }),
  retry: nested({
    attempts: integer({ default: 3, min: 0, max: 100 }),
    tiers: list(nested({ delayMs: durationMs(), name: optional(text()) }), {
      default: [{ delayMs: 1_000, name: undefined }],
    }),
  }),
  breaker: orFalse(nested({ rate: number({ default: 0.5, above: 0, max: 1 }) }), { default: false }),
  headers: mapOf(text(), { default: { source: 'test' } }),
  password: optional(secret()),
} satisfies Rules

function violationsOf(given: unknown, rules: Rules = binding): readonly string[] {
  try {
    resolveOptions('createConnector', rules, given)
    return []
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    return error.violations.map(({ path, problem }) => `${path}: ${problem}`)
  }
}

/** Iterates over every object in a resolved value, itself included. */
function* objectsIn(value: unknown): Iterable<object> {
  if (typeof value !== 'object' || value === null) return
  yield value
  for (const inside of Object.values(value)) yield* objectsIn(inside)
}

describe('resolveOptions', () => {
  test('fills in every default', () => {
    expect(resolveOptions('createConnector', binding, { topic: 'orders.events' })).toEqual({
      topic: 'orders.events',
      mode: 'KEEP',
      retry: { attempts: 3, tiers: [{ delayMs: 1_000, name: undefined }] },
      breaker: false,
      headers: { source: 'test' },
      password: undefined,
    })
  })

  test('freezes the result through and through, defaults included, and leaves what was given alone', () => {
    const given = { topic: 'orders', retry: { tiers: [{ delayMs: 5 }] }, headers: { a: 'b' } }
    for (const options of [{ topic: 'orders' }, given]) {
      const resolved = resolveOptions('createConnector', binding, options)
      for (const inside of objectsIn(resolved)) expect(Object.isFrozen(inside)).toBe(true)
    }
    for (const inside of objectsIn(given)) expect(Object.isFrozen(inside)).toBe(false)
  })

  test('gives a copy: changing what was given changes nothing later', () => {
    const given = { topic: 'orders', headers: { a: 'b' }, retry: { tiers: [{ delayMs: 5 }] } }
    const resolved = resolveOptions('createConnector', binding, given)
    given.headers.a = 'changed'
    given.retry.tiers.push({ delayMs: 6 })
    expect(resolved.headers).toEqual({ a: 'b' })
    expect(resolved.retry.tiers).toHaveLength(1)
  })

  test('reports every violation at once, each with its path', () => {
    expect(
      violationsOf({
        topic: 'Orders!',
        mode: 'KEPP',
        retry: { attempts: -1, tiers: [{ delayMs: 1 }, { delay: 2 }], extra: 1 },
        breaker: { rate: 0 },
        headers: { 'x-y': 7 },
        grupId: 'g',
      }),
    ).toEqual([
      'grupId: is not an option; known are topic, mode, retry, breaker, headers, password',
      'topic: must be a topic name, got "Orders!"',
      'mode: must be one of KEEP, DELETE, got "KEPP"; did you mean KEEP?',
      'retry.extra: is not an option; known are attempts, tiers',
      'retry.attempts: must be an integer from 0 to 100, got -1',
      'retry.tiers[1].delay: is not an option; did you mean delayMs?',
      'retry.tiers[1].delayMs: is required: whole milliseconds of 0 or more',
      'breaker.rate: must be a number above 0, at most 1, got 0',
      'headers["x-y"]: must be a text that is not empty, got 7',
    ])
  })

  test('says in its message what is wrong, that nothing was started, and what to do', () => {
    expect(() => resolveOptions('createConnector', binding, { tpoic: 'orders' })).toThrow(
      [
        'createConnector: 2 invalid options:',
        '  tpoic is not an option; did you mean topic?',
        '  topic is required: a topic name',
        '  Nothing was done. Fix them and try again.',
      ].join('\n'),
    )
    expect(() => resolveOptions('eventually', {}, 7)).toThrow(
      'eventually: 1 invalid option:\n  eventually must be an object, got 7\n',
    )
  })

  test('cannot have its violations changed afterwards', () => {
    const violations = [{ path: 'a', problem: 'is wrong' }]
    const error = new OptionsError('x', violations)
    violations.pop()
    expect(error.violations).toEqual([{ path: 'a', problem: 'is wrong' }])
    for (const inside of objectsIn(error.violations)) expect(Object.isFrozen(inside)).toBe(true)
  })

  test.each([
    ['undefined', undefined],
    ['an object without a prototype', Object.assign(Object.create(null), {})],
    ['an object of another realm', runInContext('({})', createContext())],
  ])('takes %s as options', (_, given) => {
    expect(resolveOptions('x', { a: integer({ default: 1 }) }, given)).toEqual({ a: 1 })
  })

  test.each([
    ['null', null, 'null'],
    ['a text', 'a', '"a"'],
    ['a list', [], 'a list of 0'],
    ['a function', () => {}, 'a function'],
    ['an instance', new Map(), 'an instance of Map'],
    ['an object with another prototype', { __proto__: { a: 2 } }, 'an instance of Object'],
  ])('refuses %s as options', (_, given, shown) => {
    expect(violationsOf(given, { a: integer({ default: 1 }) })).toEqual([`: must be an object, got ${shown}`])
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('reports the unknown key %s', (key) => {
    const given: unknown = JSON.parse(`{ ${JSON.stringify(key)}: { "a": 2 } }`)
    expect(violationsOf(given, { a: integer({ default: 1 }) })).toEqual([`${key}: is not an option; known are a`])
    expect(violationsOf({ inner: given }, { inner: nested({ a: integer({ default: 1 }) }) })).toEqual([
      `inner.${key}: is not an option; known are a`,
    ])
  })

  test('does not take what every object inherits for an option', () => {
    expect(resolveOptions('x', { toString: optional(func()) }, {}).toString).toBeUndefined()
  })

  test.each(['__proto__', 'constructor'])('keeps the key %s of a map as a key like any other', (key) => {
    const given: unknown = JSON.parse(`{ "map": { ${JSON.stringify(key)}: 5 } }`)
    const { map } = resolveOptions('x', { map: mapOf(integer()) }, given)
    expect(Object.entries(map)).toEqual([[key, 5]])
    expect(Object.getPrototypeOf(map)).toBeNull()
  })

  test('reports an object whose keys cannot be read, and continues with the rest', () => {
    const throwing = {
      get a(): number {
        throw new Error('no')
      },
    }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const rules = { one: nested({ a: integer() }), two: nested({ a: integer() }), three: integer() }
    expect(violationsOf({ one: throwing, two: proxy, three: 'x' }, rules)).toEqual([
      'one: must be an object, but cannot be read: Error: no',
      expect.stringMatching(/^two: must be an object, but cannot be read: TypeError: /),
      'three: must be an integer, got "x"',
    ])
  })

  describe('relations', () => {
    const rules = { min: integer({ default: 1 }), max: integer({ default: 10 }) }

    test('see resolved options and report beside the rules', () => {
      expect(() =>
        resolveOptions('x', rules, { min: 11 }, ({ min, max }, report) => {
          if (min > max) report('min', `must be at most max (${max}), got ${min}`)
        }),
      ).toThrow('min must be at most max (10), got 11')
    })

    test('run only when every value alone is right', () => {
      const relations = vi.fn<(options: unknown) => void>()
      expect(() => resolveOptions('x', rules, { min: 'x' }, relations)).toThrow(OptionsError)
      expect(relations).not.toHaveBeenCalled()
      resolveOptions('x', rules, {}, relations)
      expect(relations).toHaveBeenCalledExactlyOnceWith({ min: 1, max: 10 }, expect.any(Function))
    })
  })
})

describe('whatever is given', () => {
  const rules = {
    ...binding,
    flag: boolean({ default: true }),
    run: func({ default: () => {} }),
    store: instance('a store', (value) => (value as { length: number }).length > 0, { default: [1] }),
  }
  const keys = fc.constantFrom(...Object.keys(rules), '__proto__', 'constructor', 'x')
  const junk = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSparseArray: true,
  })
  const given = fc.oneof(junk, fc.dictionary(keys, junk), fc.dictionary(keys, fc.dictionary(keys, junk)))

  test('resolving throws an OptionsError or nothing', () => {
    fc.assert(
      fc.property(given, (options) => {
        expect(() => violationsOf(options, rules)).not.toThrow()
      }),
      { numRuns: 2_000 },
    )
  })

  const valid = fc.record(
    {
      topic: fc.stringMatching(/^[a-z.]{1,20}$/),
      mode: fc.constantFrom('KEEP', 'DELETE'),
      retry: fc.record(
        {
          attempts: fc.integer({ min: 0, max: 100 }),
          tiers: fc.array(
            fc.record({ delayMs: fc.nat(), name: fc.string({ minLength: 1 }) }, { requiredKeys: ['delayMs'] }),
          ),
        },
        { requiredKeys: [] },
      ),
      breaker: fc.oneof(fc.constant(false), fc.record({ rate: fc.constantFrom(0.1, 1) }, { requiredKeys: [] })),
      headers: fc.dictionary(fc.string(), fc.string({ minLength: 1 })),
      flag: fc.boolean(),
    },
    { requiredKeys: ['topic'] },
  )

  test('what was resolved resolves to itself', () => {
    fc.assert(
      fc.property(valid, (options) => {
        const resolved = resolveOptions('x', rules, options)
        expect(resolveOptions('x', rules, resolved)).toEqual(resolved)
        expect(resolved).toMatchObject(options)
      }),
    )
  })
})
