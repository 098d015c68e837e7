import { describe, expect, test } from 'vitest'
import { importsOf, packageNameOf } from './module-import.ts'

function found(text: string): string[] {
  return importsOf(text).map(({ kind, specifier, line }) => `${line} ${kind} ${specifier}`)
}

describe('imports are found in all their forms', () => {
  test.each([
    ["import './a.ts'", ['1 IMPORT ./a.ts']],
    ["import a from './a.ts'", ['1 IMPORT ./a.ts']],
    ["import type from './a.ts'", ['1 IMPORT ./a.ts']],
    ["import type A from './a.ts'", ['1 IMPORT ./a.ts']],
    ["import type { A } from './a.ts'", ['1 IMPORT ./a.ts']],
    ["import a, { type B, c as d } from './a.ts'", ['1 IMPORT ./a.ts']],
    ["import * as a from './a.ts'", ['1 IMPORT ./a.ts']],
    ['import{a}from"./a.ts"', ['1 IMPORT ./a.ts']],
    ["\nimport {\n  a, // from 'nowhere'\n  b,\n} from './a.ts'", ['2 IMPORT ./a.ts']],
    ["import data from './a.json' with { type: 'json' }", ['1 IMPORT ./a.json']],
    ["export { a } from './a.ts'", ['1 EXPORT_NAMES ./a.ts']],
    ["export type { A } from './a.ts'", ['1 EXPORT_NAMES ./a.ts']],
    ["export * from './a.ts'", ['1 EXPORT_ALL ./a.ts']],
    ["export * as a from './a.ts'", ['1 EXPORT_ALL ./a.ts']],
    ["await import('./a.ts')", ['1 DYNAMIC ./a.ts']],
    ["await import(/* why */ './a.ts')", ['1 DYNAMIC ./a.ts']],
    ['await import(`./a.ts`)', ['1 DYNAMIC ./a.ts']],
    ['`${await import("./a.ts")}`', ['1 DYNAMIC ./a.ts']],
    ["type A = import('./a.ts').A", ['1 DYNAMIC ./a.ts']],
    ["const a = require('./a.cjs')", ['1 DYNAMIC ./a.cjs']],
    ['await import(name)', ['1 DYNAMIC undefined']],
    ['await import(`./${name}.ts`)', ['1 DYNAMIC undefined']],
  ])('%j', (text, imports) => {
    expect(found(text)).toEqual(imports)
  })
})

describe('text that only looks like an import is ignored', () => {
  test.each([
    "// import a from './a.ts'",
    "/** @example import a from './a.ts' */",
    `const text = "import a from './a.ts'"`,
    "const text = `import a from './a.ts'`",
    'const here = import.meta.url',
    "export default './a.ts'",
    "export const from = './a.ts'",
    "const loaded = loader.import('./a.ts')",
    "const reimport = from './a.ts'",
    "const rule = /import a from '/",
  ])('%j', (text) => {
    expect(found(text)).toEqual([])
  })

  test('an export list does not borrow the source of the import behind it', () => {
    expect(found("export { a }\nimport b from './b.ts'")).toEqual(['2 IMPORT ./b.ts'])
  })
})

describe('an import leaves nothing at run time', () => {
  test.each([
    ["import type { A } from './a.ts'", true],
    ["import type A from './a.ts'", true],
    ["import { type A, type B } from './a.ts'", true],
    ["export type { A } from './a.ts'", true],
    ["import type from './a.ts'", false],
    ["import { type A, b } from './a.ts'", false],
    ["import a, { type B } from './a.ts'", false],
    ["import './a.ts'", false],
    ["await import('./a.ts')", false],
  ])('%j: %j', (text, isTypeOnly) => {
    expect(importsOf(text)).toEqual([expect.objectContaining({ isTypeOnly })])
  })
})

describe('the package of a specifier', () => {
  test.each([
    ['@waybill/core/option', '@waybill/core'],
    ['@waybill/core', '@waybill/core'],
    ['vitest/config', 'vitest'],
    ['./a.ts', undefined],
    ['../a.ts', undefined],
    ['node:fs', undefined],
    ['node:sqlite', undefined],
    ['fs', undefined],
  ])('of %s is %s', (specifier, name) => {
    expect(packageNameOf(specifier)).toBe(name)
  })
})
