import { type LogFields, type Logger, noopLogger } from '@waybill/core'
import { createLogger, type LogLevel } from '@waybill/core/internal'
import { expect, expectTypeOf, test } from 'vitest'

function setup() {
  const lines: [LogLevel, LogFields, string][] = []
  return { lines, logger: createLogger((level, fields, text) => lines.push([level, fields, text])) }
}

test('a logger is made of one function', () => {
  const { lines, logger } = setup()
  logger.debug({ a: 1 }, 'one')
  logger.info({}, 'two')
  logger.warn({}, 'three')
  logger.error({ b: 2 }, 'four')
  expect(lines).toEqual([
    ['DEBUG', { a: 1 }, 'one'],
    ['INFO', {}, 'two'],
    ['WARN', {}, 'three'],
    ['ERROR', { b: 2 }, 'four'],
  ])
})

test('untyped code may log a text alone, or anything else, and no line fails', () => {
  const { lines, logger } = setup()
  const untyped = logger as unknown as { info(...given: unknown[]): void }
  untyped.info('shipping')
  untyped.info({ orderId: 'o-1' })
  untyped.info(undefined, 'late')
  untyped.info(null)
  expect(lines).toEqual([
    ['INFO', {}, 'shipping'],
    ['INFO', { orderId: 'o-1' }, ''],
    ['INFO', {}, 'late'],
    ['INFO', {}, 'null'],
  ])
})

test('a child adds its fields to its own lines only; the line’s own field wins', () => {
  const { lines, logger } = setup()
  const child = logger.child({ binding: 'orders', tier: 0 })
  child.child({ tier: 1 }).info({}, 'grandchild')
  child.info({ tier: 2 }, 'child')
  logger.info({}, 'parent')
  expect(lines.map(([, fields]) => fields)).toEqual([
    { binding: 'orders', tier: 1 },
    { binding: 'orders', tier: 2 },
    {},
  ])
})

test('an error in place of fields keeps its message', () => {
  const { lines, logger } = setup()
  const error = new Error('no broker')
  logger.child({ binding: 'orders' }).error(error, 'failed')
  expect(lines).toEqual([['ERROR', { binding: 'orders', err: error }, 'failed']])
})

test('methods work when taken off the logger', () => {
  const { lines, logger } = setup()
  const { info } = logger
  info({}, 'detached')
  expect(lines).toHaveLength(1)
})

test('the noop logger writes nothing and is its own child', () => {
  noopLogger.error({}, 'nowhere')
  expect(noopLogger.child({ a: 1 })).toBe(noopLogger)
})

// pino is not a dependency, so this declares the shape of its types: log functions with three generic overloads, child
// with a type parameter and a wider result, levels beyond ours, and more besides.
type PlaceholderArgs<Text extends string> = Text extends `${string}%${'s' | 'd'}${infer Rest}`
  ? [unknown, ...PlaceholderArgs<Rest>]
  : []
interface PinoLogFn {
  <Text extends string = string>(text: Text, ...values: PlaceholderArgs<Text>): void
  <T, Text extends string = string>(
    fields: [T] extends [object] ? T & object : T,
    text?: T extends string ? never : Text,
    ...values: PlaceholderArgs<Text> | []
  ): void
  <T, Text extends string = string>(
    fields: [T] extends [object] ? T & object : T,
    text?: T extends string ? never : Text,
    ...values: PlaceholderArgs<Text> extends [unknown, ...unknown[]] ? PlaceholderArgs<Text> : unknown[]
  ): void
}
interface PinoLogger<Custom extends string = never> {
  level: string
  fatal: PinoLogFn
  error: PinoLogFn
  warn: PinoLogFn
  info: PinoLogFn
  debug: PinoLogFn
  trace: PinoLogFn
  child<ChildCustom extends string = never>(
    bindings: Record<string, unknown>,
    options?: { readonly level?: string },
  ): PinoLogger<Custom | ChildCustom>
  isLevelEnabled(level: string): boolean
}

test('a pino logger is a Logger by its type', () => {
  expectTypeOf<PinoLogger>().toExtend<Logger>()
  expectTypeOf<PinoLogger<'audit'>>().toExtend<Logger>()
  expectTypeOf<ReturnType<PinoLogger['child']>>().toExtend<Logger>()
  expectTypeOf<Omit<PinoLogger, 'child'>>().not.toExtend<Logger>()
})
