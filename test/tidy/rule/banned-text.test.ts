import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { consoleRule, registryRule, unfinishedRule, workplaceRule } from './banned-text.ts'

describe('unfinished work', () => {
  test.each(['// TODO later', '/* FIXME */', 'XXX', '// TODO(me): x'])('is found in %j', (text) => {
    expect(findingsIn(unfinishedRule, treeOf({ 'scripts/a.ts': text }))).toHaveLength(1)
  })

  test.each(['const todoList = []', 'test.todo', 'METODO'])('is not %j', (text) => {
    expect(findingsIn(unfinishedRule, treeOf({ 'scripts/a.ts': text, 'package-lock.json': 'TODO' }))).toEqual([])
  })
})

describe('how the work was organised', () => {
  test.each([
    'written by a subagent',
    'as decided in this session',
    'see issue #12',
    'copied from /work/shared/notes',
    'const folder = "/home/me/waybill"',
  ])('is found in %j', (text) => {
    expect(findingsIn(workplaceRule, treeOf({ 'docs/a.md': text }))).toHaveLength(1)
  })

  test.each([
    'the session timeout of the group',
    'an issue of the schema',
    'src/work/a.ts',
    'https://example.org/work/',
  ])('is not %j', (text) => {
    expect(findingsIn(workplaceRule, treeOf({ 'docs/a.md': text }))).toEqual([])
  })
})

describe('the console', () => {
  test.each(['console.log(1)', 'console?.error(1)', '`${console.log(1)}`'])('is found in %j', (text) => {
    expect(findingsIn(consoleRule, treeOf({ 'packages/core/src/a.ts': text }))).toHaveLength(1)
  })

  test.each(["'console.log'", '// console.log', 'this.console.log(1)', 'consoleUrl.href'])('is not %j', (text) => {
    expect(findingsIn(consoleRule, treeOf({ 'packages/core/src/a.ts': text, 'scripts/a.ts': 'console.log' }))).toEqual(
      [],
    )
  })
})

test('the console is for the default logger alone', () => {
  const printing = { 'packages/core/src/telemetry/standard-error-logger.ts': 'console.error(1)' }
  expect(findingsIn(consoleRule, treeOf(printing))).toEqual([])
})

describe('a registry', () => {
  test.each([
    ['package-lock.json', '"resolved": "https://npm.example.org/a.tgz"', 'resolves to https://npm.example.org/a.tgz'],
    ['package-lock.json', '"resolved": "git+ssh://git@example.org/a.git"', 'resolves to git+ssh'],
    ['.npmrc', 'registry=https://npm.example.org', 'sets a registry'],
    ['.npmrc', '@waybill:registry=https://registry.npmjs.org', 'sets a registry'],
    ['docs/a.md', 'npm i --registry https://nexus.example.org/npm', 'names the registry nexus.example.org'],
    ['.github/workflows/ci.yml', 'registry-url: http://registry.example.org', 'names the registry'],
  ])('in %s is found: %j', (path, text, reason) => {
    expect(findingsIn(registryRule, treeOf({ [path]: text }))).toEqual([expect.stringContaining(reason)])
  })

  test.each([
    ['package-lock.json', '"resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz"'],
    ['package-lock.json', '"resolved": "packages/core", "link": true'],
    ['.npmrc', 'save-exact=true'],
    ['.github/workflows/release.yml', 'registry-url: https://registry.npmjs.org'],
    ['docs/a.md', 'the container registry, https://example.org'],
  ])('in %s may stand: %j', (path, text) => {
    expect(findingsIn(registryRule, treeOf({ [path]: text }))).toEqual([])
  })
})
