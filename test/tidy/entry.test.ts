import { describe, expect, test } from 'vitest'
import { exportedNamesOf } from './entry.ts'

describe('the exported names', () => {
  test.each([
    ["export { a, type B, c as d } from './a.ts'", ['a', 'B', 'd']],
    ["export type {\n  A,\n  // not B,\n  C,\n} from './a.ts'", ['A', 'C']],
    ['const a = 1\nexport { a }', ['a']],
    ['export const a = 1\nexport async function b() {}\nexport interface C {}', ['a', 'b', 'C']],
    ['export function a(one: string): void\nexport function a(one: number): void', ['a']],
    ['export type A = { b: string }\nexport abstract class C {}', ['A', 'C']],
    ["const text = 'export { a }' // export { b }", []],
  ])('of %j are %j', (text, names) => {
    expect(exportedNamesOf(text)).toEqual(names)
  })
})
