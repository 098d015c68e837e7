import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rules } from './rules.ts'
import type { Rule } from './tree.ts'

test('every rule that a file exports is enforced, once', async () => {
  const files = globSync('rule/*.ts', { cwd: import.meta.dirname }).filter((path) => !path.endsWith('.test.ts'))
  const modules = await Promise.all(
    files.map(async (path) => (await import(join(import.meta.dirname, path))) as Record<string, unknown>),
  )
  const exported = modules.flatMap((module) => Object.entries(module)).filter(([name]) => name.endsWith('Rule'))
  expect(exported).not.toEqual([])
  const titles = exported.map(([, rule]) => (rule as Rule).title)
  expect(rules.map(({ title }) => title).toSorted()).toEqual(titles.toSorted())
})
