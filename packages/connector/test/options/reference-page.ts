/** Renders the reference pages from the tables that the validator reads. */

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
    'All options of a binding, with legal values, defaults and the reasons for them. Durations are in milliseconds.',
    '`createConnector` validates all bindings once and reports every violation in one error, with paths such as',
    '`bindings.orders.retry.tiers[0].delayMs`. See [failure combinations](failure-combinations.md) for the failure',
    'settings that can be combined. Files can use hyphens, such as `group-id`, and refer to code by name: see',
    '[configure with YAML](../how-to/configure-with-yaml.md).',
    '',
    `Generated from the rules in the code by \`${madeBy}\`.`,
    '',
    '## Binding',
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
    'A `preset` sets these options. Options that you set explicitly take precedence.',
    '',
    ...table(
      ['preset', 'option', 'value'],
      Object.entries(presets).flatMap(([preset, options]) =>
        leavesOf(options).map(([path, value]) => [code(preset), code(path), code(JSON.stringify(value))]),
      ),
    ),
    '',
    '## Relations between options',
    '',
    '- `sessionTimeoutMs` is at least 3 x `heartbeatIntervalMs`.',
    '- The sum of all tier 0 waits x `maxPollRecords` is below `pollIntervalSafetyThreshold` x `maxPollIntervalMs`. Waits',
    '  are counted capped and without jitter, one fewer than attempts. BLOCKING_UNLIMITED is exempt, since it waits',
    '  outside the poll loop.',
    '- No topic of a list occurs twice, or receives the failures of another one. An expression skips such topics.',
    '- Tier delays increase strictly, and `skipToTierMapping` refers to existing tiers.',
    '- `orderingMode: KEY` requires `parallelism: KEY`; STRICT excludes UNORDERED.',
    '- `listenerType: BATCH` requires `parallelism: PARTITION`, and a handler with `handleBatch` requires BATCH.',
    '- No error is in both `retryableExceptions` and `nonRetryableExceptions`.',
    '- `minimumNumberOfCalls` is at most `slidingWindowSize`.',
    '- `alertHandler` is set if and only if the strategy is ALERT_AND_STORE, `recordHandler` if and only if it is CUSTOM.',
    '- `decode` excludes a handler of `handleEvents`.',
    '- `deduplicate` has either a store or an inbox, and excludes an inbox of `handleEvents`. A handler with `handleBatch`',
    '  can use a store only.',
    '- `transactional` requires `parallelism: PARTITION` and `listenerType: SINGLE`, excludes `orderingMode: KEY` and marks',
    '  (`deduplicate`, an inbox), and its `maxRecords` is at most `maxAhead`.',
    '- Derived topics have legal and distinct names.',
    '- The commit metadata fits: `maxAhead` offsets plus, with `orderingMode: KEY`,',
    `  2 x (\`keyOrder.maxWaitingRecords\` + \`maxAhead\`) are at most ${widestOffsetSet}, and at most ${metadataCharacters} characters with all`,
    '  counters.',
    '- In one connector, no two bindings have the same topic and group on a cluster, and no two groups derive the same',
    '  topic: `retryTopicNaming: PER_GROUP` adds the group to the names.',
    '',
    '## Warnings',
    '',
    'Legal options that are probably a mistake are logged as warnings, and the binding starts.',
    '',
    ...Object.entries(sensibleFloors).map(([option, floor]) => `- ${code(option)} below ${floor}.`),
    '- `expectedHandlerMs` with which a poll of failing records exceeds its share of `maxPollIntervalMs`.',
    '- An error in `retry` with the name of a Java class.',
    '- A breaker that is configured but not enabled, or an option without an effect.',
    '- More members (`concurrency`) than partitions of the source.',
    '- Static member ids from a host name that looks generated.',
  ])
}

/** docs/reference/failure-combinations.md */
export function renderFailureCombinations(): string {
  return page([
    '# Failure combinations',
    '',
    'The legal combinations of failure settings, and the handling of a record whose in-memory retries (tier 0) are',
    'exhausted. `createConnector` rejects any other combination. The first of several values is the default. Records with',
    'non-retryable errors go to the dead letters in every row.',
    '',
    `Generated from the table that the validator reads by \`${madeBy}\`.`,
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
    'If you omit `retry.tiers`, the three default tiers apply in the rows that have tiers.',
    '',
    '## Reasons of rejections',
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
