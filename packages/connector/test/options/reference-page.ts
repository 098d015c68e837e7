/** The reference pages that are made of the tables the validator reads. */

import { listOptions, type OptionRow } from '@waybill/core/option'
import { code, optionTable, page, table } from '@waybill/test-support'
import { widestOffsetSet } from '../../src/ledger/offset-set.ts'
import { bindingRules, computedDefaults } from '../../src/options/binding-rules.ts'
import { sensibleFloors } from '../../src/options/binding-warnings.ts'
import { legalCombinations, refusalReasons } from '../../src/options/legal-combinations.ts'
import { metadataCharacters } from '../../src/options/metadata-room.ts'
import { presets } from '../../src/options/presets.ts'

const madeBy = 'npx vitest run packages/connector/test/options/reference-page.test.ts -u'

/** docs/reference/binding-options.md */
export function renderBindingOptions(): string {
  const rows = listOptions(bindingRules)
  const groups = ['keyOrder', 'retry', 'circuitBreaker', 'dlt']
  const plain = rows.filter((row) => !groups.some((group) => row.path === group || isInside(row, group)))
  return page([
    '# Binding options',
    '',
    'Every option of a binding: what it takes, what holds without it, and why. Durations are milliseconds. A binding is',
    'read once, when the connector is made; whatever is wrong with any of them is told in one error, with paths such as',
    '`bindings.orders.retry.tiers[0].delayMs`. Which of the settings about failures go together is in',
    '[failure combinations](failure-combinations.md). From a file the same options come with hyphens too, `group-id`, and',
    'code comes by its name: [configure with YAML](../how-to/configure-with-yaml.md).',
    '',
    `Made of the rules in the code by \`${madeBy}\`.`,
    '',
    '## The binding',
    '',
    ...optionTable(plain, computedDefaults),
    ...groups.flatMap((group) => [
      '',
      `## ${group}`,
      '',
      ...optionTable(
        rows.filter((row) => isInside(row, group)),
        computedDefaults,
      ),
    ]),
    '',
    '## Presets',
    '',
    'A `preset` sets these options. What the binding says itself wins.',
    '',
    ...table(
      ['preset', 'option', 'value'],
      Object.entries(presets).flatMap(([preset, options]) =>
        leavesOf(options).map(([path, value]) => [code(preset), code(path), code(JSON.stringify(value))]),
      ),
    ),
    '',
    '## What must hold between them',
    '',
    '- `sessionTimeoutMs` is at least 3 x `heartbeatIntervalMs`.',
    '- All waits of tier 0 x `maxPollRecords` are below `pollIntervalSafetyThreshold` x `maxPollIntervalMs`: one wait less',
    '  than attempts, capped, without jitter. BLOCKING_UNLIMITED is exempt, since it waits outside the poll loop.',
    '- No topic of a list is there twice, or is where the failures of another one go. An expression leaves such topics out.',
    '- Delays of tiers rise strictly; `skipToTierMapping` names tiers that there are.',
    '- `orderingMode: KEY` needs `parallelism: KEY`; STRICT does not go with UNORDERED.',
    '- `listenerType: BATCH` needs `parallelism: PARTITION`, and a handler with `handleBatch` needs BATCH.',
    '- No error is in `retryableExceptions` and in `nonRetryableExceptions`.',
    '- `minimumNumberOfCalls` is at most `slidingWindowSize`.',
    '- `alertHandler` is there exactly with ALERT_AND_STORE, `recordHandler` exactly with CUSTOM.',
    '- `deduplicate` has a store or an inbox, not both, and is not there beside the inbox of `handleEvents`. A handler with',
    '  `handleBatch` takes a store only.',
    '- `transactional` needs `parallelism: PARTITION` and `listenerType: SINGLE`, does not go with `orderingMode: KEY` nor with marks',
    '  (`deduplicate`, an inbox), and its `maxRecords` is at most `maxAhead`.',
    '- Topics that a binding derives have names that Kafka takes, each its own.',
    '- What a commit has to remember fits into its metadata: `maxAhead` offsets and, with `orderingMode: KEY`,',
    `  2 x (\`keyOrder.maxWaitingRecords\` + \`maxAhead\`) more, are at most ${widestOffsetSet} together, and with all counters at`,
    `  most ${metadataCharacters} characters.`,
    '- In one connector no two bindings have the same topic and group on a cluster, and no two groups derive the same',
    '  topic: `retryTopicNaming: PER_GROUP` puts the group into the names.',
    '',
    '## What is warned about',
    '',
    'Legal, and most likely not meant: the logger is told, and the binding starts.',
    '',
    ...Object.entries(sensibleFloors).map(([option, floor]) => `- ${code(option)} below ${floor}.`),
    '- `expectedHandlerMs` with which a poll full of failures outlasts its part of `maxPollIntervalMs`.',
    '- An error in `retry` that is called like a class of Java: no error of JavaScript is.',
    '- A breaker that is described and not enabled; an option that has no effect beside the others.',
    '- More members (`concurrency`) than the source has partitions.',
    '- Static members called after a host whose name looks generated.',
  ])
}

/** docs/reference/failure-combinations.md */
export function renderFailureCombinations(): string {
  return page([
    '# Failure combinations',
    '',
    'What becomes of a record that tier 0 could not save, and which settings go together. Whatever is not in this table is',
    'refused when the connector is made. Where several values stand, the first is the default. Errors that no retry can',
    'help go to the dead letters in every row.',
    '',
    `Made of the table that the validator reads by \`${madeBy}\`.`,
    '',
    ...table(
      [
        'failureProfile',
        'orderingMode',
        'tiers',
        'strictExhaustion',
        'budgetExceededRouting',
        'keyOrder.onDeadKey',
        'batchFailureStrategy',
        'the record',
      ],
      legalCombinations.map((row) => [
        row.failureProfile,
        row.orderingMode,
        row.tiers === 'SOME' ? 'some' : 'none',
        row.strictExhaustion.join(', '),
        row.budgetExceededRouting.join(', '),
        row.onDeadKey.join(', '),
        row.batchFailureStrategy.join(', '),
        row.becomes,
      ]),
    ),
    '',
    'Without `retry.tiers` the three default tiers apply in the rows that have some, and none elsewhere.',
    '',
    '## Why the others are refused',
    '',
    ...table(
      ['option', 'because'],
      Object.entries(refusalReasons).map(([option, because]) => [code(option), because]),
    ),
  ])
}

function leavesOf(options: object, path = ''): [string, unknown][] {
  return Object.entries(options).flatMap(([key, value]: [string, unknown]): [string, unknown][] =>
    typeof value === 'object' && value !== null ? leavesOf(value, `${path}${key}.`) : [[`${path}${key}`, value]],
  )
}

function isInside({ path }: OptionRow, group: string): boolean {
  return path.startsWith(`${group}.`)
}
