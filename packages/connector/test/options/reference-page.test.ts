import { join } from 'node:path'
import { listOptions } from '@waybill/core/option'
import { expect, test } from 'vitest'
import { bindingRules } from '../../src/options/binding-rules.ts'
import { legalCombinations } from '../../src/options/legal-combinations.ts'
import { renderBindingOptions, renderFailureCombinations, renderJavaExceptions } from './reference-page.ts'

const pages = join(import.meta.dirname, '../../../../docs/reference')

test('the page of binding options says what the rules say', async () => {
  await expect(renderBindingOptions()).toMatchFileSnapshot(join(pages, 'binding-options.md'))
})

test('the page of failure combinations says what the table says', async () => {
  await expect(renderFailureCombinations()).toMatchFileSnapshot(join(pages, 'failure-combinations.md'))
})

test('C-87 C-89 the page of Java exceptions says what the table says', async () => {
  await expect(renderJavaExceptions()).toMatchFileSnapshot(join(pages, 'java-exceptions.md'))
})

test('the pages leave out no option and no combination', () => {
  const options = renderBindingOptions()
  for (const { path } of listOptions(bindingRules)) {
    const isGroup = ['keyOrder', 'retry', 'circuitBreaker', 'dlt'].includes(path)
    expect(options).toContain(isGroup ? `\n## ${path}\n` : `\n| \`${path}\` | `)
  }
  const combinations = renderFailureCombinations()
  for (const { failureProfile, orderingMode } of legalCombinations)
    expect(combinations).toContain(`\n| ${failureProfile} | ${orderingMode} | `)
})
