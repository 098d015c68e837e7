import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { bindingRules } from '../../src/options/binding-rules.ts'
import { foreignNames, foreignOption } from '../../src/options/foreign-names.ts'

const page = readFileSync(join(import.meta.dirname, '../../../../docs/reference/binding-options.md'), 'utf8')
const binding = { topic: 'orders', groupId: 'shipping', handler: () => {} }

describe('a word of another library in place of an option', () => {
  test.each([
    ['retries', 'retry'],
    ['maxRetries', 'retry.tier0.maxAttempts (the first call counts)'],
    ['max-retries', 'retry.tier0.maxAttempts (the first call counts)'],
    ['maxAttempts', 'retry.tier0.maxAttempts'],
    ['deadLetterTopic', 'dlt.topic'],
    ['deadLetters', 'dlt'],
    ['fromBeginning', "startFrom: 'EARLIEST'"],
    ['consumerGroup', 'groupId'],
  ])('%s leads to the hint %s', (word, meant) => {
    const given = { ...binding, [word]: 3 }
    const path = word.includes('-') ? `["${word}"]` : `.${word}`
    expect(() => resolveBinding('shipping', given)).toThrow(
      `bindings.shipping${path} is not an option; did you mean ${meant}?`,
    )
  })

  test('is never an option, and its hint always names one', () => {
    const options = Object.keys(bindingRules)
    expect(options.filter((option) => foreignOption(option) !== undefined)).toEqual([])
    // Without what is said of its value. A group of options has no row, and only this one is meant as a whole.
    const paths = Object.values(foreignNames).map((meant) => meant.replace(/[: ].*/, ''))
    expect(paths.filter((path) => path !== 'retry' && !page.includes(`| \`${path}\` |`))).toEqual([])
  })

  test('is recognized at the top level only, not inside another option', () => {
    const given = { ...binding, retry: { retries: 3 } } as object
    expect(() => resolveBinding('shipping', given as typeof binding)).toThrow(
      /bindings\.shipping\.retry\.retries is not an option; known are/,
    )
  })
})
