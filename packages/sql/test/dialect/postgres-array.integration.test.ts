import { describeWith } from '@waybill/test-support'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { arrayOf } from '../../src/dialect/postgres-array.ts'

describeWith('postgres')('an array as text', ({ postgres }) => {
  test('is read back by PostgreSQL as it was, for any texts', async () => {
    const texts = fc.array(fc.option(fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\u0000'))))
    await fc.assert(
      fc.asyncProperty(texts, async (values) => {
        const { rows } = await postgres.pool.query<{ values: unknown }>('select $1::text[] as values', [
          arrayOf(values),
        ])
        expect(rows[0]?.values).toEqual(values)
      }),
      { numRuns: 200 },
    )
  })

  test('holds numbers of any size', async () => {
    const { rows } = await postgres.pool.query('select $1::bigint[] as values', [arrayOf([1n, 2n ** 63n - 1n, -3n])])
    expect(rows[0]).toEqual({ values: ['1', '9223372036854775807', '-3'] })
  })
})
