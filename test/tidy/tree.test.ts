import { expect, test } from 'vitest'
import { lineAt, type Rule, report, treeOf } from './tree.ts'

const rule: Rule = {
  title: 'nothing is red',
  why: 'Red is loud. Paint it green.',
  find: (tree) => [...tree].flatMap(([path, text]) => (text === 'red' ? [{ path, line: 1, message: 'is red' }] : [])),
}

test('a report names the places first and ends with the reason', () => {
  expect(report(rule, treeOf({ 'a.ts': 'red', 'b.ts': 'green' }))).toBe(
    'Broken: nothing is red.\na.ts:1 is red\nWhy: Red is loud. Paint it green.',
  )
})

test('a rule that is kept reports nothing', () => {
  expect(report(rule, treeOf({ 'b.ts': 'green' }))).toBe('')
})

test('lines count from one, and a line break belongs to the line it ends', () => {
  expect([0, 1, 2, 3].map((offset) => lineAt('a\nb\n', offset))).toEqual([1, 1, 2, 2])
})
