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
    '',
    ...certainty,
  ])
}

/** The numbers are those of the last runs of the commands that it names. */
const certainty = `## How sure the answers are

A comparison without findings is a proof that no event of one version is refused by the other. Each finding has such an event as its
example, checked by a validator, or says that it cannot tell (\`WB-C401\`).

Where validators differ, no verdict depends on one of them. Before 2019-09 keywords beside a \`$ref\` are hidden, and ajv checks them:
documents that have some are compared in both readings. Keywords that only some validators check, keywords that came after the
dialect of a schema, such as \`prefixItems\` in draft-07, and items beside \`contains\` and \`unevaluatedItems\` cannot be told. Parts of a
document with an \`$id\` of their own count as free forms.

Three programs of the repository try this:

| command | judge | result |
|---|---|---|
| \`npm run schema-pairs -- --pairs N\` | ajv, with events drawn near both schemas of random pairs | 30,000 pairs, 60,000 comparisons: 40,852 compatible, and of 311,601 events none was refused; 15,172 breaking with an example; the others are below |
| \`npx vitest run packages/contract/test/compare/written-events.test.ts\` | ajv, with what \`encodeEvent\` writes | 600 pairs in each run; in a run of 4,000 pairs 5,465 comparisons were compatible, and of 45,115 events none was refused |
| \`npm run schema-changes -- FILE…\` | ajv, with examples and drawn events | 2,764 changes of other projects: none let through, no wrong example, 99.2 % right |

Findings without an example are false alarms, or breaks that nothing proved. Of the 60,000 comparisons:

| class | times | reason |
|---|---|---|
| \`WB-C003\` | 3,867 | the writer's schema contradicts itself, so no event exists that could be refused |
| \`WB-C101\` to \`WB-C103\` | 184 | the specified check compares words: \`number\` with \`multipleOf: 1\` became \`integer\` |
| \`WB-C401\` about a format | 16 | validators disagree about the texts of a format |
| \`WB-C401\`, others | 93 | the search gave up, mostly on a writer's schema that contradicts itself |

## Changes that other projects wrote as their tests

The changes are not part of the repository, since not all licenses allow that. Each is \`{ source, name, older, newer, backward }\` in
a JSON list. Files of test data were read as they are; tests that are programs ran with a function in place of the
checker that records its arguments and the expected answer. Changes that two projects share count once.

| project | commit | files |
|---|---|---|
| confluentinc/schema-registry | 794611bd86d1 | \`json-schema-provider/src/test/resources/diff-*schema-examples*.json\` |
| Apicurio/apicurio-registry | b40e01738287 | \`schema-util/json/src/test/resources/…/compatibility-test-data.json\` |
| redpanda-data/redpanda | 1c6cff34ea8b | \`src/v/pandaproxy/schema_registry/test/test_json_schema.cc\` |
| Aiven-Open/karapace | 3bbc1f8d30d7 | \`tests/unit/compatibility/jsonschema\`, \`tests/schemas/json_schemas.py\` |
| IBM/jsonsubschema | de914706be6f | \`test/test_*.py\` |
| ArakawaHenri/subschema | 3540d795e12d | \`test/test_*.py\` |
| getsentry/json-schema-diff | 435580b0194f | \`tests/fixtures\` |
| akash-akya/json-schema-diff | a5f428f16f8a | \`test/unit\` |
| atinseau/json-schema-compatibility-checker | fbc3d7854e46 | \`tests/**/*.spec.ts\` |

Of 2,777 changes ajv compiles 2,764; the other 13 list no value, name a type that does not exist, or refer out of their document or to
themselves. 2,742 verdicts are right: 824 breaks have an event that ajv says is refused, and for 1,918 changes called compatible
ajv found none. In 22 cases the check cannot tell: 20 compare tables of some ten thousand required rows, beyond the 2,000 items that it
generates, and two schemas are none (\`allOf: [""]\`, \`multipleOf: -0.5\`). In 152 cases the project expects the opposite:

| expected, and why it does not hold | times |
|---|---|
| breaking, though the reader accepts everything (\`true\`), or the writer nothing | 68 |
| breaking, by a rule of the project: other words for the same events, a wider pattern, annotations such as \`contentEncoding\`, constraints of its own, options of one run | 54 |
| compatible, and ajv confirms the example: another required name, overlapping members of \`oneOf\`, \`.\` that matches no line end, keywords beside \`$ref\` since 2019-09, data of one run taken into account | 30 |`.split(
  '\n',
)

test('docs/reference/contract-rules.md lists every rule', async () => {
  const rules = Object.values(contractRules)
  const grouped = rules.filter((rule) => groups.filter(({ codes }) => codes.test(rule.code)).length === 1)
  expect(grouped).toEqual(rules)
  expect(new Set(rules.map((rule) => rule.code)).size).toBe(rules.length)
  await expect(renderRules()).toMatchFileSnapshot(path)
})
