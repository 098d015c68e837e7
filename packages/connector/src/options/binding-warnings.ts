/** Finds options that are legal but probably a mistake. Pure: the caller logs them. */

import { errorNameOf, planRetryBudget, untranslatedJava } from '@waybill/core/internal'
import type { Report } from '@waybill/core/option'
import type { DeclaredValues } from './binding-rules.ts'
import { tier0RetryPolicy } from './tier0-retry.ts'

/** The lowest sensible values outside of tests. */
export const sensibleFloors: Readonly<
  Record<'maxPollIntervalMs' | 'sessionTimeoutMs' | 'heartbeatIntervalMs', number>
> = Object.freeze({ maxPollIntervalMs: 5_000, sessionTimeoutMs: 10_000, heartbeatIntervalMs: 1_000 })

/** Reports probable mistakes. `given` are the options as written, without defaults. */
export function findWarnings(binding: DeclaredValues, given: Readonly<Record<string, unknown>>, report: Report): void {
  for (const option of ['maxPollIntervalMs', 'sessionTimeoutMs', 'heartbeatIntervalMs'] as const) {
    const floor = sensibleFloors[option]
    if (binding[option] < floor) report(option, `is ${binding[option]}: values below ${floor} are for tests only`)
  }
  warnAboutHandlerTime(binding, report)
  warnAboutBreaker(binding, given, report)
  warnAboutUnusedOptions(binding, given, report)
  warnAboutErrorNames(binding, report)
}

/** A Java class without a translation matches nothing. In `retryableExceptions` alone it is a violation. */
function warnAboutErrorNames({ retry }: DeclaredValues, report: Report): void {
  const named = [
    ...(retry.retryableExceptions ?? []).map((error, at) => [`retryableExceptions[${at}]`, error] as const),
    ...retry.nonRetryableExceptions.map((error, at) => [`nonRetryableExceptions[${at}]`, error] as const),
    ...retry.skipToTierMapping.map(([error]) => ['skipToTierMapping', error] as const),
  ]
  for (const [path, error] of named) {
    const name = untranslatedJava(error)
    if (name !== undefined)
      report(
        `retry.${path}`,
        `names ${String(error)}, a Java class without a translation: it matches only errors with exactly this name or ` +
          `code; write the name, the code or the class of an error, such as ${errorNameOf(name)}`,
      )
  }
}

function warnAboutHandlerTime(binding: DeclaredValues, report: Report): void {
  if (binding.failureProfile === 'BLOCKING_UNLIMITED') return
  const { warning } = planRetryBudget({ ...binding, policy: tier0RetryPolicy(binding.retry.tier0) })
  if (warning !== undefined) report('expectedHandlerMs', warning)
}

function warnAboutBreaker(
  { circuitBreaker }: DeclaredValues,
  given: Readonly<Record<string, unknown>>,
  report: Report,
): void {
  const own = given['circuitBreaker']
  const isConfigured = typeof own === 'object' && own !== null && Object.keys(own).length > 0
  if (!circuitBreaker.enabled && isConfigured && !('enabled' in own))
    report('circuitBreaker', 'is configured but not enabled: set circuitBreaker.enabled')
}

/** Reports options that have no effect. */
function warnAboutUnusedOptions(
  binding: DeclaredValues,
  given: Readonly<Record<string, unknown>>,
  report: Report,
): void {
  const { orderingMode, failureProfile, retry, dlt } = binding
  const keyOrderGiven = given['keyOrder']
  if (orderingMode !== 'KEY' && isObject(keyOrderGiven)) {
    for (const option of ['maxWaitingRecords', 'maxWaitingBytes'])
      if (keyOrderGiven[option] !== undefined) report(`keyOrder.${option}`, 'has no effect without orderingMode KEY')
  }
  if (!(binding.topic instanceof RegExp) && given['topicRefreshMs'] !== undefined)
    report('topicRefreshMs', 'has no effect unless topic is an expression')
  if (binding.listenerType !== 'BATCH') {
    for (const option of ['batchFailureStrategy', 'batchMaxRedeliveries'])
      if (given[option] !== undefined) report(option, 'has no effect without listenerType BATCH')
  } else if (binding.batchFailureStrategy !== 'SEEK_TO_FAILED' && given['batchMaxRedeliveries'] !== undefined)
    report('batchMaxRedeliveries', 'has no effect without batchFailureStrategy SEEK_TO_FAILED')
  const [retryGiven, deadLetterGiven] = [given['retry'], given['dlt']]
  if (failureProfile !== 'BLOCKING_UNLIMITED' && isObject(retryGiven) && retryGiven['blocking'] !== undefined)
    report('retry.blocking', 'has no effect without failureProfile BLOCKING_UNLIMITED')
  if (dlt.topic !== undefined && isObject(deadLetterGiven) && deadLetterGiven['topicSuffix'] !== undefined)
    report('dlt.topicSuffix', 'has no effect beside dlt.topic')
  if (orderingMode !== 'KEY') return
  for (const [at, { topicSuffix, concurrency }] of (retry.tiers ?? []).entries()) {
    const path = `retry.tiers[${at}]`
    if (topicSuffix !== undefined) report(`${path}.topicSuffix`, 'has no effect with orderingMode KEY')
    if (concurrency !== 1) report(`${path}.concurrency`, 'has no effect with orderingMode KEY')
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
