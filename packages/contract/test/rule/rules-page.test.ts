import { join } from 'node:path'
import { contractRules } from '@waybill/contract'
import { code, page, table } from '@waybill/test-support'
import { expect, test } from 'vitest'

const path = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'reference', 'contract-rules.md')
const madeBy = 'npx vitest run packages/contract/test/rule/rules-page.test.ts -u'

const groups = [
  { title: 'Files, catalogs and waivers', codes: /^WB-C0/ },
  { title: 'What the policy forbids', codes: /^WB-C1/ },
  { title: 'Stricter than the policy', codes: /^WB-C2/ },
  { title: 'Valid, and still a mistake', codes: /^WB-C3/ },
  { title: 'Not decidable', codes: /^WB-C4/ },
  { title: 'Consumers that were run', codes: /^WB-C5/ },
  { title: 'Records that wait', codes: /^WB-C6/ },
]

function renderRules(): string {
  const rules = Object.values(contractRules)
  return page([
    '# Contract rules',
    '',
    'Every kind of finding of `compareSchemas`, `checkContracts` and `npx waybill-contract check`. Codes never change: waivers and',
    'scripts match them. `npx waybill-contract explain CODE` prints a rule. This page is made from the rules by',
    `${code(madeBy)}.`,
    '',
    'BREAKING findings fail the check: those of the policy (`WB-C101` to `WB-C103`), failed runs of consumers, waiting records that are',
    'refused, and differences between catalog and files. Other findings are warnings, and BREAKING with `--strict`.',
    ...groups.flatMap(({ title, codes }) => [
      '',
      `## ${title}`,
      '',
      ...table(
        ['code', 'finding', 'why it matters', 'before', 'after', 'remedy'],
        rules
          .filter((rule) => codes.test(rule.code))
          .map(({ code: id, title: what, explanation, example, remedy }) => [
            id,
            what,
            explanation,
            code(example.before),
            example.after === '' ? '' : code(example.after),
            remedy,
          ]),
      ),
    ]),
  ])
}

test('docs/reference/contract-rules.md lists every rule', async () => {
  const rules = Object.values(contractRules)
  const grouped = rules.filter((rule) => groups.filter(({ codes }) => codes.test(rule.code)).length === 1)
  expect(grouped).toEqual(rules)
  expect(new Set(rules.map((rule) => rule.code)).size).toBe(rules.length)
  await expect(renderRules()).toMatchFileSnapshot(path)
})
