/**
 * The rules of this repository that no compiler or linter enforces. Each is a function over the tree with its own small
 * test beside it in test/tidy/rule; here they run on the actual files.
 */

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readRepository } from './tidy/read-repository.ts'
import { rules } from './tidy/rules.ts'
import { report } from './tidy/tree.ts'

const repository = readRepository(join(import.meta.dirname, '..'))

describe('the repository keeps its rules', () => {
  // A column of titles, because $title would be cut short.
  test.each(rules.map((rule) => [rule.title, rule] as const))('%s', (_, rule) => {
    expect(report(rule, repository)).toBe('')
  })
})
