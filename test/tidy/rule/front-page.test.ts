import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { changelogRule, packageListRule } from './front-page.ts'

describe('the package table of README.md', () => {
  const packages = {
    'packages/core/package.json': '{ "name": "@waybill/core" }',
    'packages/cli/package.json': '{ "name": "waybill" }',
    'packages/secret/package.json': '{ "name": "@waybill/secret", "private": true }',
  }
  const head = '| package | for |\n|---|---|\n'
  const rows = '| [@waybill/core](packages/core) | core |\n| `waybill` | waybill |\n'

  function findings(table: string): string[] {
    return findingsIn(packageListRule, treeOf({ ...packages, 'README.md': head + table }))
  }

  test('lists the published packages', () => {
    expect(findings(rows)).toEqual([])
  })

  test.each([
    ['misses one', '| `waybill` | the command |\n', 'does not list @waybill/core'],
    ['lists a private one', `${rows}| @waybill/secret | x |\n`, 'lists @waybill/secret, which is not published'],
    ['lists one that is gone', `${rows}| @waybill/gone | x |\n`, 'lists @waybill/gone, which is not published'],
    [
      'lists one twice',
      `${rows}| @waybill/core | x |\n`,
      'lists @waybill/core, which is not published or listed above',
    ],
  ])('is found when it %s', (_, table, reason) => {
    expect(findings(table)).toEqual([expect.stringContaining(reason)])
  })

  test('must exist', () => {
    expect(findingsIn(packageListRule, treeOf({}))).toEqual(['README.md:1 is missing'])
  })
})

describe('the changelog', () => {
  test.each(['# Changelog\n\n## Unreleased\n\n## 0.1.0\n', '## [Unreleased]\n'])('is fine as %j', (text) => {
    expect(findingsIn(changelogRule, treeOf({ 'CHANGELOG.md': text }))).toEqual([])
  })

  test.each([
    ['# Changelog\n\n## 0.1.0\n\n## Unreleased\n', 'starts with the section 0.1.0'],
    ['# Changelog\n', 'starts with the section nothing'],
  ])('is found as %j', (text, reason) => {
    expect(findingsIn(changelogRule, treeOf({ 'CHANGELOG.md': text }))).toEqual([expect.stringContaining(reason)])
  })

  test('must exist', () => {
    expect(findingsIn(changelogRule, treeOf({}))).toEqual(['CHANGELOG.md:1 is missing'])
  })
})
