/** Every test file is in exactly one project of vitest.config.ts. One in none would never run, one in two would run twice. */

import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import config from '../vitest.config.ts'
import { readRepository } from './tidy/read-repository.ts'

const root = join(import.meta.dirname, '..')

interface Kind {
  readonly name: string
  readonly include: readonly string[]
  readonly exclude: readonly string[]
}

const kinds = (config.test?.projects ?? []).map((project) => (project as { readonly test: Kind }).test)

function kindsOf(path: string): string[] {
  const isMatched = (globs: readonly string[]): boolean => globs.some((glob) => posix.matchesGlob(path, glob))
  return kinds.filter(({ include, exclude }) => isMatched(include) && !isMatched(exclude)).map(({ name }) => name)
}

test('every test file of the repository is of exactly one kind', () => {
  const files = [...readRepository(root).keys()].filter((path) => path.endsWith('.test.ts'))
  expect(files.length).toBeGreaterThan(400)
  const wrong = files.map((path) => ({ path, kinds: kindsOf(path) })).filter((file) => file.kinds.length !== 1)
  expect(wrong).toEqual([])
})

describe('the kind of a test file', () => {
  test.each([
    ['packages/core/test/option/rule.test.ts', 'unit'],
    ['packages/core/test/catalog/catalog.types.test.ts', 'unit'],
    ['test/tidy/rule/size.test.ts', 'unit'],
    ['packages/kafka/test/client/admin/admin.integration.test.ts', 'integration'],
    ['test/conformance/control.conformance.test.ts', 'integration'],
    ['test/examples/demo.integration.test.ts', 'integration'],
    ['test/simulation/simulations.smoke.test.ts', 'smoke'],
    ['test/simulation/client/program.test.ts', 'simulation'],
    ['packages/connector/test/partition/key-order/key-ordered-worker.simulation.test.ts', 'simulation'],
    ['packages/admin/test/console/overview.browser.test.ts', 'browser'],
    ['test/docs/programs.test.ts', 'docs'],
    ['test/publishing/release.test.ts', 'publishing'],
    ['test/guarantees/outbox/kills.test.ts', 'guarantees'],
  ])('%s is %s', (path, kind) => {
    expect(kindsOf(path)).toEqual([kind])
  })
})

test('npm test runs kinds that exist, and npm run check runs all of them once', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<'test' | 'check', string>>
  }
  const chosen = [...scripts.test.matchAll(/--project (\S+)/g)].map(([, name]) => name)
  expect(chosen).toEqual(['unit', 'integration', 'smoke'])
  for (const name of chosen) expect(kinds.map((kind) => kind.name)).toContain(name)
  expect(scripts.check).toMatch(/&& vitest run$/)
  expect(scripts.check.match(/vitest|npm test/g)).toHaveLength(1)
})
