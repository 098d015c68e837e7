import { SchemaViolationError, type StandardSchema } from '@waybill/core'
import { type SchemaIssue } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { formatPath, validate } from '../../src/event/validate.ts'

function schemaThat(answer: StandardSchema['~standard']['validate']): StandardSchema {
  return { '~standard': { version: 1, vendor: 'test', validate: answer } }
}

describe('validate', () => {
  test('gives the output of the schema', async () => {
    expect(await validate(z.string().transform(Number), '7', 'It', {})).toBe(7)
  })

  test('waits for a schema that answers later', async () => {
    const later = schemaThat((value) => Promise.resolve({ value }))
    expect(await validate(later, 7, 'It', {})).toBe(7)
    const refused = schemaThat(() => Promise.resolve({ issues: [{ message: 'no such customer', path: ['customer'] }] }))
    await expect(validate(refused, 7, 'It', {})).rejects.toThrow('It violates its schema: customer: no such customer.')
  })

  test('takes a list of no issues for a refusal, as the standard says', async () => {
    await expect(
      validate(
        schemaThat(() => ({ issues: [] })),
        7,
        'It',
        {},
      ),
    ).rejects.toThrow(SchemaViolationError)
  })

  test('names every issue with its path', async () => {
    const schema = z.object({ items: z.array(z.object({ price: z.number() })), 'a-b': z.string() })
    const thrown = await validate(schema, { items: [{ price: 1 }, { price: 'x' }] }, 'order.placed', {}).catch(
      (error: unknown) => error,
    )
    expect(thrown).toBeInstanceOf(SchemaViolationError)
    expect((thrown as SchemaViolationError).violations.map(({ path }) => path)).toEqual(['items[1].price', '["a-b"]'])
    expect((thrown as Error).message).toMatch(/^order\.placed violates its schema: items\[1\]\.price: .*; \["a-b"\]: /)
  })

  test('keeps the error small, however many issues there are and however long they are', async () => {
    const issues = Array.from({ length: 10_000 }, (_, index) => ({ message: 'x'.repeat(10_000), path: [index] }))
    const thrown = await validate(
      schemaThat(() => ({ issues })),
      7,
      'It',
      {},
    ).catch((error: unknown) => error)
    expect((thrown as SchemaViolationError).violations).toHaveLength(20)
    expect((thrown as Error).message).toMatch(/and 9980 more\.$/)
    expect((thrown as Error).message.length).toBeLessThan(8_000)
  })

  test('passes on what a schema throws, for trying again may help', async () => {
    const lost = new Error('connection lost')
    const throwing = schemaThat(() => {
      throw lost
    })
    await expect(validate(throwing, 7, 'It', {})).rejects.toBe(lost)
    await expect(
      validate(
        schemaThat(() => Promise.reject(lost)),
        7,
        'It',
        {},
      ),
    ).rejects.toBe(lost)
  })

  test('takes a value that is nested deeper than the stack for a violation', async () => {
    interface Nested extends Array<Nested> {}
    const schema: z.ZodType<Nested> = z.lazy(() => z.array(schema))
    const depth = 200_000
    const bomb: unknown = JSON.parse('['.repeat(depth) + ']'.repeat(depth))
    await expect(validate(schema, bomb, 'It', {})).rejects.toThrow('It violates its schema: is nested too deeply.')
  })
})

describe('a path', () => {
  test.each<[NonNullable<SchemaIssue['path']>, string]>([
    [[], ''],
    [['a'], 'a'],
    [['a', 0, 'b'], 'a[0].b'],
    [['a', '0', 'b'], 'a[0].b'],
    [['a b', 'c'], '["a b"].c'],
    [[{ key: 'a' }, { key: 1 }], 'a[1]'],
    [[Symbol('s')], '["Symbol(s)"]'],
    [['__proto__', '"'], '__proto__["\\""]'],
  ])('of %j is written as %s', (keys, path) => {
    expect(formatPath(keys)).toBe(path)
  })
})
