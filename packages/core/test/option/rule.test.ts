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
  type Resolved,
  type Rule,
  resolveOptions,
  secret,
  text,
} from '@waybill/core/option'
import { describe, expect, expectTypeOf, test } from 'vitest'

/** Returns the result of a rule for one value, or the problem it finds. */
function read(rule: Rule<unknown>, value?: unknown): unknown {
  try {
    return resolveOptions('options', { it: rule }, value === undefined ? {} : { it: value }).it
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    return error.violations.map(({ path, problem }) => `${path} ${problem}`).join('\n')
  }
}

class Store {
  save(): void {}
}
const isStore = (value: unknown): boolean => typeof (value as Store).save === 'function'
const store = new Store()
const handler = (): void => {}

describe('a rule takes what it accepts as it is', () => {
  test.each<[kind: string, rule: Rule<unknown>, values: readonly unknown[]]>([
    ['number', number(), [0, -1.5, Number.MAX_VALUE]],
    ['number within bounds', number({ min: 0, max: 1 }), [0, 0.5, 1]],
    ['number above', number({ above: 0 }), [Number.MIN_VALUE]],
    ['integer', integer(), [0, -7, Number.MAX_SAFE_INTEGER]],
    ['integer within bounds', integer({ min: 1, max: 3 }), [1, 2, 3]],
    ['duration', durationMs(), [0, 1, 86_400_000]],
    ['boolean', boolean(), [true, false]],
    ['text', text(), ['x', ' ']],
    ['text with a pattern', text({ pattern: /^[a-z]+$/ }), ['abc']],
    ['secret', secret(), ['hunter2']],
    ['word', oneOf(['KEEP', 'DELETE']), ['KEEP', 'DELETE']],
    ['instance', instance('a store', isStore), [store]],
    ['function', func(), [handler, Store]],
    ['list', list(integer()), [[], [1, 2]]],
    ['list within bounds', list(integer(), { min: 1, max: 2 }), [[1], [1, 2]]],
    ['map', mapOf(integer()), [{}, { a: 1, 'b-c': 2 }]],
    ['number or false', orFalse(integer({ min: 1 })), [1, false]],
    ['list or false', orFalse(list(integer())), [[1], false]],
    ['optional', optional(integer()), [1, undefined]],
  ])('%s', (_, rule, values) => {
    for (const value of values) expect(read(rule, value)).toEqual(value)
  })

  test('an instance stays the same object, unfrozen', () => {
    expect(read(instance('a store', isStore), store)).toBe(store)
    expect(Object.isFrozen(store)).toBe(false)
  })
})

describe('a rule says what it refuses, and what would be right', () => {
  test.each<[rule: Rule<unknown>, value: unknown, problem: string]>([
    [number(), Number.NaN, 'it must be a number, got NaN'],
    [number(), Number.POSITIVE_INFINITY, 'it must be a number, got Infinity'],
    [number(), '5', 'it must be a number, got "5"'],
    [number({ above: 0 }), 0, 'it must be a number above 0, got 0'],
    [number({ above: 0, max: 1 }), 2, 'it must be a number above 0, at most 1, got 2'],
    [integer(), 1.5, 'it must be an integer, got 1.5'],
    [integer(), 2 ** 53, 'it must be an integer, got 9007199254740992'],
    [integer(), 10n, 'it must be an integer, got 10n'],
    [integer({ min: 1 }), 0, 'it must be an integer of 1 or more, got 0'],
    [integer({ max: 3 }), 4, 'it must be an integer of at most 3, got 4'],
    [integer({ min: 1, max: 3 }), 4, 'it must be an integer from 1 to 3, got 4'],
    [durationMs(), -1, 'it must be whole milliseconds of 0 or more, got -1'],
    [durationMs({ above: 0 }), 0, 'it must be whole milliseconds above 0, got 0'],
    [durationMs(), '7d', 'it must be whole milliseconds of 0 or more, got "7d"'],
    [boolean(), 0, 'it must be true or false, got 0'],
    [text(), '', 'it must be a text that is not empty, got ""'],
    [text(), null, 'it must be a text that is not empty, got null'],
    [text({ pattern: /^a+$/ }), 'b', 'it must be a text like /^a+$/, got "b"'],
    [text({ pattern: /^a+$/, called: 'some a' }), 'b', 'it must be some a, got "b"'],
    [oneOf(['KEEP', 'DELETE']), 'Keep ', 'it must be one of KEEP, DELETE, got "Keep "; did you mean KEEP?'],
    [oneOf(['KEEP', 'DELETE']), 'ARCHIVE', 'it must be one of KEEP, DELETE, got "ARCHIVE"'],
    [oneOf(['KEEP']), { toString: () => 'KEEP' }, 'it must be one of KEEP, got an object'],
    [instance('a store', isStore), new Map(), 'it must be a store, got an instance of Map'],
    [instance('a store', isStore), {}, 'it must be a store, got an object'],
    [func(), 'f', 'it must be a function, got "f"'],
    [list(integer()), 1, 'it must be a list, each an integer, got 1'],
    [list(integer(), { min: 1 }), [], 'it must be a list of 1 or more, each an integer, got a list of 0'],
    [list(integer(), { max: 1 }), [1, 2], 'it must be a list of at most 1, each an integer, got a list of 2'],
    [list(integer(), { min: 1, max: 2 }), [], 'it must be a list of 1 to 2, each an integer, got a list of 0'],
    [list(integer()), [1, 'x', 2, null], 'it[1] must be an integer, got "x"\nit[3] must be an integer, got null'],
    [list(integer()), Array(1), 'it[0] is required: an integer'],
    [mapOf(integer()), [1], 'it must be an object whose every value is an integer, got a list of 1'],
    [mapOf(integer()), new Map(), 'it must be an object whose every value is an integer, got an instance of Map'],
    [mapOf(integer()), { a: 1, 'b c': 'x' }, 'it["b c"] must be an integer, got "x"'],
    [nested({ a: integer() }), 1, 'it must be an object, got 1'],
    [nested({ a: integer() }), null, 'it must be an object, got null'],
    [nested({ a: integer() }), {}, 'it.a is required: an integer'],
    [orFalse(integer({ min: 1 })), 0, 'it must be an integer of 1 or more, or false, got 0'],
    [orFalse(integer()), true, 'it must be an integer, or false, got true'],
    [orFalse(oneOf(['KEEP'])), 'KEPP', 'it must be one of KEEP, or false, got "KEPP"; did you mean KEEP?'],
    [orFalse(nested({ a: nested({}) })), { a: 5 }, 'it.a must be an object, got 5'],
    [optional(integer()), null, 'it must be an integer, got null'],
    [func(), Symbol('x'), 'it must be a function, got Symbol(x)'],
    [number(), handler, 'it must be a number, got a function'],
  ])('%o refuses %o', (rule, value, problem) => {
    expect(read(rule, value)).toBe(problem)
  })

  test('prints no more than sixty characters of a text', () => {
    expect(read(integer(), 'x'.repeat(61))).toBe(`it must be an integer, got "${'x'.repeat(60)}"…`)
  })

  test('prints no password of a connection URL', () => {
    expect(read(integer(), 'postgres://app:hunter2@db/orders')).toBe(
      'it must be an integer, got "postgres://…@db/orders"',
    )
    expect(read(integer(), 'redis://:p/w@x')).toBe('it must be an integer, got "redis://…@x"')
  })

  test('never prints a secret, wherever it stands', () => {
    const hostile = {
      get length(): number {
        throw new Error('hunter2')
      },
    }
    for (const rule of [secret(), orFalse(secret()), optional(secret())]) {
      for (const value of [['hunter2'], { hunter2: 'hunter2' }, Object.assign(handler, { hunter2: 1 }), 7, ''])
        expect(read(rule, value)).toMatch(/^it must be a text that is not empty(, or false)?, got something else$/)
    }
    const throwing: Rule<string> = { ...secret(), accepts: (value) => (value as typeof hostile).length > 0 }
    expect(read(throwing, hostile)).toBe('it must be a text that is not empty, but cannot be read')
    expect(read(list(secret()), ['hunter2', 2])).not.toContain('hunter2')
    expect(read(nested({ password: secret() }), { pasword: 'hunter2' })).not.toContain('hunter2')
  })

  test('a check that throws counts as a refusal that says why', () => {
    expect(read(instance('a store', isStore), null)).toMatch(/^it must be a store, but cannot be read: TypeError: /)
  })
})

test('a pattern with the flag g matches the same text every time', () => {
  const rule = text({ pattern: /a/g })
  expect([read(rule, 'a'), read(rule, 'a'), read(rule, 'a')]).toEqual(['a', 'a', 'a'])
})

describe('an absent value', () => {
  test.each<[kind: string, rule: Rule<unknown>, value: unknown]>([
    ['takes the default', integer({ default: 7 }), 7],
    ['takes a default of undefined', func({ default: undefined as never }), undefined],
    ['is a violation without a default', integer(), 'it is required: an integer'],
    ['is undefined when optional', optional(integer()), undefined],
    [
      'is undefined when optional, although there are defaults inside',
      optional(nested({ a: integer({ default: 1 }) })),
      undefined,
    ],
    ['is all defaults when nested', nested({ a: integer({ default: 1 }) }), { a: 1 }],
    [
      'is false when that is the default of what can be off',
      orFalse(nested({ a: integer() }), { default: false }),
      false,
    ],
    ['keeps the default of the rule that can be off', orFalse(integer({ default: 7 })), 7],
    ['may have a default of its own when it can be off', orFalse(integer({ default: 7 }), { default: 8 }), 8],
    [
      'is required when the rule that can be off requires it',
      orFalse(integer()),
      'it is required: an integer, or false',
    ],
    [
      'completes a default that is partial',
      list(nested({ a: integer({ default: 1 }) }), { default: [{}] as never }),
      [{ a: 1 }],
    ],
    [
      'shows a default that breaks its own rule',
      integer({ min: 1, default: 0 }),
      'it must be an integer of 1 or more, got 0',
    ],
  ])('%s', (_, rule, value) => {
    expect(read(rule)).toEqual(value)
  })
})

test('the type of a rule is the type of its value', () => {
  const rules = {
    count: integer(),
    mode: oneOf(['KEEP', 'DELETE']),
    retry: orFalse(nested({ delayMs: durationMs({ default: 1 }) })),
    tags: optional(list(text())),
    limits: mapOf(number()),
  }
  expectTypeOf<Resolved<typeof rules>>().toEqualTypeOf<{
    readonly count: number
    readonly mode: 'KEEP' | 'DELETE'
    readonly retry: { readonly delayMs: number } | false
    readonly tags: readonly string[] | undefined
    readonly limits: Readonly<Record<string, number>>
  }>()
})
