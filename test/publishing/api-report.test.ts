import { describe, expect, test } from 'vitest'
import { apiReport } from '../../scripts/lib/api-report.ts'

/** The report on a package whose only entry is `dist/index.d.ts`. */
function report(files: Readonly<Record<string, string>>): string {
  const entries = [{ specifier: 'parcel', types: 'dist/index.d.ts' }]
  return apiReport({ name: 'parcel', entries }, (path) => {
    const text = files[path]
    if (text === undefined) throw new Error(`no file ${path}`)
    return text
  })
}

function declarations(files: Readonly<Record<string, string>>): string {
  return /```ts\n(.*)\n```/s.exec(report(files))?.[1] ?? ''
}

describe('an API report', () => {
  test('lists exported names in one order, whatever the order of the entry file', () => {
    const first = { 'dist/index.d.ts': 'export declare const b: 1;\nexport declare const a: 2;\n' }
    const second = { 'dist/index.d.ts': 'export declare const a: 2;\nexport declare const b: 1;\n' }
    expect(declarations(first)).toBe('export const a: 2;\n\nexport const b: 1;')
    expect(report(first)).toBe(report(second))
  })

  test('leaves comments out, so that a better explanation is not a change of the API', () => {
    const text = '/** Old words. */\nexport interface Box {\n    /** Wide. */\n    readonly width: number; // mm\n}\n'
    expect(declarations({ 'dist/index.d.ts': text })).toBe('export interface Box {\n    readonly width: number;\n}')
  })

  test('keeps what looks like a comment inside a string type', () => {
    const text = `export type Any = '*/*' | "http://x" | '/* no */';\n`
    expect(declarations({ 'dist/index.d.ts': text })).toBe(text.trim())
  })

  test('follows re-exports to the declaration, with its new name', () => {
    const files = {
      'dist/index.d.ts': `export { type Box, open as unpack, } from './box/index.ts';\n`,
      'dist/box/index.d.ts': `export { open } from './open.js';\nexport { type Box } from './box.ts';\n`,
      'dist/box/open.d.ts': 'export declare function open(): void;\n',
      'dist/box/box.d.ts': 'export interface Box {\n}\n',
    }
    expect(declarations(files)).toBe('export interface Box {\n}\n\nexport function open(): void; // as unpack')
  })

  test('names the package that something comes from when it is another', () => {
    const text = `import { type Clock } from '@waybill/core';\nexport { type Clock };\nexport { z as zod } from 'zod';\n`
    expect(declarations({ 'dist/index.d.ts': text })).toBe(
      `export { Clock } from '@waybill/core'\n\nexport { z as zod } from 'zod'`,
    )
  })

  test('keeps overloads and merged declarations together', () => {
    const text = [
      'export declare function send(one: string): void;',
      'export declare function send(many: string[]): void;',
      'export interface Outbox {\n    size: number;\n}',
      'export declare const Outbox: {\n    create(): Outbox;\n};',
    ]
    expect(declarations({ 'dist/index.d.ts': text.join('\n') })).toBe(
      [
        'export interface Outbox {\n    size: number;\n}\nconst Outbox: {\n    create(): Outbox;\n};',
        'export function send(one: string): void;\nfunction send(many: string[]): void;',
      ].join('\n\n'),
    )
  })

  test('shows what an exported declaration leans on, however far, since a change there changes it too', () => {
    const files = {
      'dist/index.d.ts': `import type { Size } from './size.ts';\nexport interface Box {\n    readonly size: Size;\n}\n`,
      'dist/size.d.ts':
        'interface Unit {\n    mm: number;\n}\nexport type Size = Unit | number;\nexport type Unused = 1;\n',
    }
    expect(declarations(files)).toBe(
      [
        'export interface Box {\n    readonly size: Size;\n}',
        '// Not exported, but part of a declaration above.',
        'type Size = Unit | number;',
        'interface Unit {\n    mm: number;\n}',
      ].join('\n\n'),
    )
  })

  test('gives each entry point a section, and does not call hidden what another entry exports', () => {
    const files: Record<string, string> = {
      'dist/index.d.ts': `import { Rule } from './rule.ts';\nexport declare function check(rule: Rule): void;\n`,
      'dist/rule.d.ts': 'export interface Rule {\n}\n',
    }
    const entries = ['index', 'rule'].map((name) => ({ specifier: `parcel/${name}`, types: `dist/${name}.d.ts` }))
    const text = apiReport({ name: 'parcel', entries }, (path) => files[path] ?? '')
    expect(text.match(/^## .*$/gm)).toEqual(['## parcel/index', '## parcel/rule'])
    expect(text).not.toContain('Not exported')
  })

  test('shows what a file adds to another module with what is taken from that file', () => {
    const text = report({
      'dist/index.d.ts': `export type { Box } from './box.ts';\n`,
      'dist/box.d.ts': `export interface Box {\n}\ndeclare module 'shelf' {\n    interface Items {\n        box: Box;\n    }\n}\n`,
    })
    expect(text).toContain(`declare module 'shelf' {\n    interface Items {`)
  })

  test.each(['export * from "./box.ts";', 'export default class Box {\n}', 'declare global {\n}', 'export = Box;'])(
    'refuses %j instead of leaving something out',
    (statement) => {
      expect(() => report({ 'dist/index.d.ts': statement })).toThrow('dist/index.d.ts: an API report cannot describe')
    },
  )

  test('refuses a name that the re-exported file does not have', () => {
    const files = { 'dist/index.d.ts': `export { gone } from './box.ts';\n`, 'dist/box.d.ts': 'export {};\n' }
    expect(() => report(files)).toThrow('dist/box.d.ts does not export gone')
  })
})
