import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { skippedTestRule, testRunRule } from './test-file.ts'

const config = "export default { test: { include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'] } }"
const body = "test('a', () => {})\n"

function runsIn(path: string, text = body): string[] {
  return findingsIn(testRunRule, treeOf({ 'vitest.config.ts': config, [path]: text }))
}

describe('the runner finds', () => {
  test.each([
    ['packages/core/test/runtime/clock.test.ts', body],
    ['packages/core/test/time/clock.integration.test.ts', body],
    ['test/tidy.test.ts', body],
    ['packages/core/test/support.ts', "export const text = 'test(1)'\n"],
    ['packages/testkit/src/conformance/clock.ts', `export function suite() {\n  ${body}}\n`],
  ])('what it should of %s', (path, text) => {
    expect(runsIn(path, text)).toEqual([])
  })
})

describe('the runner would miss', () => {
  test.each([
    ['packages/core/src/clock.test.ts', 'is matched by no include pattern'],
    ['bench/clock.test.ts', 'is matched by no include pattern'],
    ['packages/core/test/clock.spec.ts', 'must end in .test.ts'],
    ['packages/core/test/clock-test.ts', 'must end in .test.ts'],
    ['packages/core/test/clock.test.mts', 'must end in .test.ts'],
    ['packages/core/test/clock.ts', 'declares tests, but its name does not end in .test.ts'],
  ])('%s', (path, reason) => {
    expect(runsIn(path)).toEqual([expect.stringContaining(reason)])
  })

  test('a table of tests in a file with another name', () => {
    expect(runsIn('test/gh-181.ts', "test.each([1])('a', () => {})\n")).toHaveLength(1)
  })

  test('everything without a configuration', () => {
    expect(findingsIn(testRunRule, treeOf({}))).toEqual(['vitest.config.ts:1 is missing'])
  })
})

function leftOutIn(text: string): string[] {
  return findingsIn(skippedTestRule, treeOf({ 'test/a.test.ts': text }))
}

describe('a test is left out without a reason', () => {
  test.each([
    "test.only('a', run)",
    "describe.each(rows).only('a', run)".replace('.each(rows)', '.concurrent'),
    "test.todo('a')",
    "test.skip('a', run)",
    "describe.skipIf(process.platform === 'win32')('a', run)",
    "it.runIf(kafka)('a', run)",
    'context.skip()',
    'skip()',
  ])('by %j', (text) => {
    expect(leftOutIn(text)).toEqual([expect.stringContaining('test/a.test.ts:1 has ')])
  })
})

describe('a test is left out with a reason', () => {
  test.each([
    "// Windows has no signals.\ndescribe.skipIf(isWindows)('a', run)",
    "test.skip('a', run) // The broker answers wrongly before 4.1.",
    "context.skip('no Kafka answers')",
    'context.skip(kafka.absent)',
    "test('a skip( ) in a title, or test.only', run)",
    'const rest = reader.skip(4)',
  ])('by %j', (text) => {
    expect(leftOutIn(text)).toEqual([])
  })
})
