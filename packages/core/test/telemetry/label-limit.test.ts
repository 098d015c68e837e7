import { createLabelLimit } from '@waybill/core/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const classes = Array.from({ length: 60 }, (_, index) => `Error${index}`)

test('C-82 lets fifty classes pass and counts the rest as other', () => {
  const limit = createLabelLimit()
  const labels = classes.map(limit)
  expect(labels).toEqual([...classes.slice(0, 50), ...Array.from({ length: 10 }, () => 'other')])
})

test('a class that passed keeps passing', () => {
  const limit = createLabelLimit(2)
  classes.slice(0, 10).forEach(limit)
  expect([limit('Error0'), limit('Error1'), limit('Error2')]).toEqual(['Error0', 'Error1', 'other'])
})

test('one binding does not use up the classes of another', () => {
  const [orders, payments] = [createLabelLimit(1), createLabelLimit(1)]
  expect([orders('TypeError'), payments('RangeError')]).toEqual(['TypeError', 'RangeError'])
})

test('a class called other takes no place', () => {
  const limit = createLabelLimit(1)
  expect([limit('other'), limit('TypeError')]).toEqual(['other', 'TypeError'])
})

test('never gives more than the limit and other, and each name either its own or other', () => {
  fc.assert(
    fc.property(fc.nat(5), fc.array(fc.string({ maxLength: 2 })), (max, names) => {
      const limit = createLabelLimit(max)
      const labels = names.map(limit)
      expect(new Set(labels.filter((label) => label !== 'other')).size).toBeLessThanOrEqual(max)
      labels.forEach((label, index) => expect([names[index], 'other']).toContain(label))
    }),
  )
})
