import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { glossaryRule } from './glossary.ts'

const glossary = `# Glossary

## Words

| word | what it is | not |
|---|---|---|
| dead letter | a record that failed for good | \`DLQ\`, \`dead letter queue\` |
| record | what lies in a topic, with \`key\` and value | \`kafka message\`, \`message key\` |

## Names

| instead | not |
|---|---|
| say what it does | \`utils\`, \`helper\`, \`impl\` |

## Fixed names

- \`eventbus.records.dlq\`: a metric
- \`DLQ_AND_CONTINUE\`, \`LibraryImpl\`
`

function findings(path: string, text: string): string[] {
  return findingsIn(glossaryRule, treeOf({ 'docs/glossary.md': glossary, [path]: text }))
}

describe('a losing word is found', () => {
  test.each([
    ['docs/a.md', 'It goes to the DLQ.', 'says "dlq": we say dead letter'],
    ['docs/a.md', 'Two DLQs.', 'says "dlqs": we say dead letter'],
    ['docs/a.md', 'It goes to the dead-letter queue', 'says "dead letter queue"'],
    ['README.md', 'every Kafka\nmessage', 'README.md:1 says "kafka message": we say record'],
    ['docs/a.md', 'the `message key`', 'says "message key"'],
    ['packages/core/src/a.ts', 'const dlqTopic = 1', 'says "dlq"'],
    ['packages/core/src/a.ts', 'const DEAD_LETTER_QUEUE = 1', 'says "dead letter queue"'],
    ['packages/core/src/a.ts', 'sendToDLQ()', 'says "dlq"'],
    ['packages/core/src/a.ts', '// every Kafka\n// message', 'says "kafka message"'],
    ['packages/core/src/a.ts', "metric('my.dlq')", 'says "dlq"'],
    ['packages/core/test/a.test.ts', "test('keeps Kafka messages', run)", 'says "kafka messages"'],
  ])('in %s: %j', (path, text, reason) => {
    expect(findings(path, text)).toEqual([expect.stringContaining(reason)])
  })
})

describe('a name that says nothing is found', () => {
  test.each([
    ['packages/core/src/a.ts', 'export class ClockImpl {}', 'is called ClockImpl: say what it does'],
    ['packages/core/src/a.ts', '  const testHelper = 1', 'is called testHelper'],
    ['packages/core/src/a.ts', 'export type StringUtils = 1', 'is called StringUtils'],
    ['packages/core/src/string-utils.ts', '', 'is called string-utils'],
    ['packages/core/test/helper/a.ts', '', 'is called helper'],
  ])('in %s: %j', (path, text, reason) => {
    expect(findings(path, text)).toEqual([expect.stringContaining(reason)])
  })
})

describe('everything else is left alone', () => {
  test.each([
    ['docs/a.md', 'It goes to the dead letter topic; the error message. Key first.'],
    ['docs/a.md', 'Kafka: message sizes'],
    ['docs/a.md', 'The metric `eventbus.records.dlq` and DLQ_AND_CONTINUE, https://example.org/dlq/x'],
    ['docs/a.md', 'No `-Impl`, no `utils`, no helper.'],
    ['packages/core/src/a.ts', 'return { message, keys }'],
    ['packages/core/src/a.ts', 'export interface LibraryImpl {}'],
    ['packages/core/src/a.ts', 'import {\n  type OtherImpl,\n} from "library"'],
    ['packages/core/src/a.ts', "import { inspect } from 'node:util'"],
    ['package.json', '{ "keywords": ["dlq"] }'],
  ])('as in %s: %j', (path, text) => {
    expect(findings(path, text)).toEqual([])
  })
})

test('a glossary whose tables cannot be read is found, instead of forbidding nothing', () => {
  const tree = treeOf({ 'docs/glossary.md': glossary.replace('## Words', '## Vocabulary') })
  expect(findingsIn(glossaryRule, tree)).toEqual([expect.stringContaining('the tables cannot be read')])
})

test('the glossary itself must exist', () => {
  expect(findingsIn(glossaryRule, treeOf({}))).toEqual(['docs/glossary.md:1 is missing'])
})
