import { describe, expect, test } from 'vitest'
import { cyclesOf } from './graph.ts'

function cycles(edges: Readonly<Record<string, string>>): string[] {
  return cyclesOf(new Map(Object.entries(edges).map(([from, to]) => [from, to]))).map((each) => each.join(''))
}

describe('a graph has the cycles', () => {
  test.each([
    ['a diamond has none', { a: 'bc', b: 'd', c: 'd', d: '' }, []],
    ['two nodes that lead to each other', { a: 'b', b: 'a' }, ['ab']],
    ['a ring is one cycle', { a: 'b', b: 'c', c: 'a' }, ['abc']],
    ['two rings that share a node are one cycle', { a: 'b', b: 'ac', c: 'b' }, ['abc']],
    ['two rings with one edge between them are two', { a: 'b', b: 'ac', c: 'd', d: 'c' }, ['ab', 'cd']],
    ['a node that leads to itself is none', { a: 'a' }, []],
    ['a finished component is not joined by a later edge', { a: 'b', b: '', c: 'ab', d: 'c' }, []],
    ['a node without an entry of its own', { a: 'b' }, []],
  ])('%s', (_, edges, expected) => {
    expect(cycles(edges)).toEqual(expected)
  })
})
