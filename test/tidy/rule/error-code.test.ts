import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { errorCodeRule } from './error-code.ts'

const section = '## WAYBILL_GONE\n\n`GoneError`: it went.\n'
const declaration =
  "export class GoneError extends WaybillError {\n  static override readonly code = 'WAYBILL_GONE'\n}\n"

function findings(source: string, page: string): string[] {
  return findingsIn(errorCodeRule, treeOf({ 'packages/core/src/a.ts': source, 'docs/reference/errors.md': page }))
}

test('a class with a code of its own and its section is fine', () => {
  expect(findings(declaration, section)).toEqual([])
})

test('an abstract class needs no code', () => {
  expect(
    findings('export abstract class WaybillError extends Error {\n  static readonly code: string\n}\n', ''),
  ).toEqual([])
})

describe('a finding is', () => {
  test.each([
    ['a code that is not explained', declaration, '', 'which docs/reference/errors.md does not explain'],
    ['a section for a code that is gone', '', section, 'explains WAYBILL_GONE, which no class declares'],
    ['a section that does not name the class', declaration, '## WAYBILL_GONE\n', 'is not named in the section'],
    ['a section written twice', declaration, section + section, 'explains WAYBILL_GONE twice'],
    ['a code in an example only', declaration, `\`\`\`md\n${section}\`\`\`\n`, 'does not explain'],
    [
      'a code that two classes share',
      declaration + declaration.replace('GoneError', 'LostError'),
      `${section}LostError`,
      'LostError has the code WAYBILL_GONE, which belongs to GoneError',
    ],
    ['a code without the prefix', declaration.replace('WAYBILL_', ''), '', 'which is not WAYBILL_'],
    ['a class without a code', 'class GoneError extends NonRetryableError {}', '', 'declares no code'],
    ['a generic class without a code', 'class GoneError<T> extends core.WaybillError {}', '', 'declares no code'],
  ])('%s', (_, source, page, reason) => {
    expect(findings(source, page)).toEqual([expect.stringContaining(reason)])
  })
})

test('the page itself must exist', () => {
  expect(findingsIn(errorCodeRule, treeOf({}))).toEqual(['docs/reference/errors.md:1 is missing'])
})
