/** Renders the reference pages from the tables that the validator reads. */

import { CircuitOpenError, OptionsError, WaybillError } from '@waybill/core'
import { type ErrorMatcher, javaExceptions } from '@waybill/core/internal'
import { listOptions, type OptionRow } from '@waybill/core/option'
import { code, optionTable, page, table } from '@waybill/test-support'
import {
  BindingAlreadyExistsError,
  BindingNotFoundError,
  InvalidContainerStateError,
} from '../../src/api/connector-errors.ts'
import { BatchProcessingError } from '../../src/handlers/batch-processing-error.ts'
import { widestOffsetSet } from '../../src/ledger/offset-set.ts'
import { bindingRules, computedDefaults } from '../../src/options/binding-rules.ts'
import { sensibleFloors } from '../../src/options/binding-warnings.ts'
import { legalCombinations, refusalReasons } from '../../src/options/legal-combinations.ts'
import { metadataCharacters } from '../../src/options/metadata-room.ts'
import { presets } from '../../src/options/presets.ts'
import { DerivedPublishError } from '../../src/records/record-errors.ts'

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
    '- `retryableExceptions` names an error that can occur here: not only Java classes without a',
    '  [translation](java-exceptions.md).',
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
    '- An error in `retry` with the name of a Java class that has no [translation](java-exceptions.md).',
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

/** The exceptions of the specification and the classes here. */
const exceptionClasses: readonly (readonly [string, { readonly name: string; readonly code: string }])[] = [
  ['InvalidContainerStateException', InvalidContainerStateError],
  ['BindingAlreadyExistsException', BindingAlreadyExistsError],
  ['BindingNotFoundException', BindingNotFoundError],
  ['BatchProcessingException', BatchProcessingError],
  ['ConfigurationValidationException', OptionsError],
  ['DltPublishException', DerivedPublishError],
]

/** docs/reference/java-exceptions.md */
export function renderJavaExceptions(): string {
  return page([
    '# Java exception names',
    '',
    'A configuration that was written for the JVM names Java classes in `retryableExceptions`, `nonRetryableExceptions`',
    'and `skipToTierMapping`. Waybill translates the classes below, in any package, to the errors that report the same in',
    'JavaScript. Each also matches errors with its own name, and with `Error` in place of `Exception`: the class',
    '`com.shop.schema.SchemaValidationException` matches `SchemaValidationException` and `SchemaValidationError` too.',
    '',
    `Generated from the tables that the classifier reads by \`${madeBy}\`.`,
    '',
    ...table(
      ['reports', 'Java classes', 'errors here, by name, code or class'],
      javaExceptions.map(({ meaning, names, matches }) => [
        meaning,
        names.map(code).join(', '),
        matches.map(describeMatcher).join(', '),
      ]),
    ),
    '',
    '- A name without a package, such as `ValidationException`, is not translated: it matches errors with exactly this',
    '  name or code, or of a class with this name.',
    '- Errors are also matched by their causes. See [failures](../explanation/failures.md) for the order of the lists.',
    '- A Java class that is not in the table matches no error. If `retryableExceptions` has no other entry, the',
    '  configuration is rejected, since every failure would become a dead letter after one call. Elsewhere it leads to a',
    '  warning. Write the name, the code or the class of the error instead, or add the Java name to `errors` of',
    '  [bindingsFromConfig](../how-to/configure-with-yaml.md).',
    '',
    '## Exceptions of the specification',
    '',
    'Errors end in `Error` here. Three have other names, since they are about more than the bus, a configuration file or the',
    'dead letter topic: `WaybillError`, `OptionsError` and `DerivedPublishError`. Match errors by code.',
    '',
    ...table(
      ['specification', 'here', 'code'],
      [
        ['`EventBusException`', code(WaybillError.name), 'one for each class'],
        ...exceptionClasses.map(([java, { name, code: own }]) => [code(java), code(name), code(own)]),
      ],
    ),
  ])
}

function describeMatcher(matcher: ErrorMatcher): string {
  if (typeof matcher === 'string') return code(matcher)
  return matcher === CircuitOpenError ? `class ${code(matcher.name)}` : '`status` or `statusCode` 503'
}

function leavesOf(options: object, path = ''): [string, unknown][] {
  return Object.entries(options).flatMap(([key, value]: [string, unknown]): [string, unknown][] =>
    typeof value === 'object' && value !== null ? leavesOf(value, `${path}${key}.`) : [[`${path}${key}`, value]],
  )
}

function isInside({ path }: OptionRow, group: string): boolean {
  return path.startsWith(`${group}.`)
}
