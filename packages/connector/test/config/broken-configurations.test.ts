/**
 * Configurations that are refused, and what is said about each. A row is a file, all its bindings, or one binding with
 * what it has beside `topic: orders` and `group-id: billing`.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { bindingsFromConfig } from '../../src/config/bindings-from-config.ts'
import { violationsOf } from '../options/test-binding.ts'

interface Row {
  readonly file?: unknown
  readonly bindings?: object
  readonly binding?: object
  readonly says: string | readonly string[]
}

const rows = parse(readFileSync(join(import.meta.dirname, 'broken-configurations.yml'), 'utf8')) as readonly Row[]
const handler = (): void => {}
const code = {
  handlers: { orders: handler, a: handler, b: handler },
  alertHandlers: { mail: { onDeadLetter: () => {} } },
  clusters: { default: {}, eu: {} },
}

function configOf({ file, bindings, binding }: Row): unknown {
  if (binding !== undefined) return { bindings: { orders: { topic: 'orders', 'group-id': 'billing', ...binding } } }
  return bindings === undefined ? file : { bindings }
}

function refusalsOf(row: Row): readonly string[] {
  const lines = violationsOf(() => bindingsFromConfig(configOf(row), code))
  return lines.map((line) => (row.binding === undefined ? line : line.replace(/^bindings\.orders\.?/, '')).trim())
}

describe('ConfigurationValidation: a broken configuration', () => {
  test('there are more than 200 of them, no two alike', () => {
    expect(new Set(rows.map((row) => JSON.stringify(configOf(row)))).size).toBe(rows.length)
    expect(rows.length).toBeGreaterThan(200)
  })

  test.each(rows.map((row) => [JSON.stringify(row.binding ?? row.bindings ?? row.file ?? null), row] as const))(
    '%s is refused for what is wrong with it, and nothing else',
    (_, row) => {
      expect(refusalsOf(row)).toEqual([row.says].flat())
    },
  )
})
