/** Turns what a user wrote into bindings in which nothing is left to decide, or says all that is wrong with them. */

import { type Logger, noopLogger, OptionsError, type OptionViolation, tier0RetryPolicy } from '@waybill/core'
import { nearest, type Report, resolveOptions } from '@waybill/core/option'
import type { Binding } from '../binding.ts'
import { findClashes } from './binding-clashes.ts'
import { checkBinding } from './binding-relations.ts'
import { type BindingValues, bindingRules } from './binding-rules.ts'
import { findDoubts } from './binding-warnings.ts'
import { withPreset } from './presets.ts'
import type { ResolvedBinding, ResolvedDeadLetter } from './resolved-binding.ts'
import { planTiers } from './tier-plan.ts'
import { deadLetterTopic, waitingTopic } from './topic-names.ts'

/** Part of the names of containers and static members, and a label of every metric. */
const bindingName = /^[A-Za-z0-9._-]{1,100}$/

/**
 * Applies preset and defaults, and checks everything that can be checked without a cluster. What is legal and most likely
 * not meant goes to the logger.
 *
 * @throws OptionsError with every violation and its path.
 */
export function resolveBinding(name: string, given: Binding, logger: Logger = noopLogger): ResolvedBinding {
  const violations: OptionViolation[] = []
  if (!bindingName.test(name))
    violations.push({
      path: bindingPath(name),
      problem: 'must be called by at most 100 letters, digits, dots, underscores and hyphens',
    })
  const values = readBinding(name, given, violations)
  if (values === undefined || violations.length > 0) throw new OptionsError(`Binding ${name}`, violations)
  findDoubts(values, { ...given }, (path, problem) =>
    logger.warn({ binding: name, option: path }, `${path} ${problem}`),
  )
  return assemble(name, values)
}

/**
 * The same for all bindings of a connector, and what must hold between them (C-71): everything that is wrong is in one
 * error. `clusters` are the names of those the connector has.
 *
 * @throws OptionsError with every violation and its path.
 */
export function resolveBindings(
  given: Readonly<Record<string, Binding>>,
  clusters: readonly string[],
  logger: Logger = noopLogger,
): readonly ResolvedBinding[] {
  const violations: OptionViolation[] = []
  const report: Report = (path, problem) => violations.push({ path, problem })
  const resolved = Object.entries(given).flatMap(([name, binding]) => {
    try {
      return [resolveBinding(name, binding, logger)]
    } catch (error) {
      if (!(error instanceof OptionsError)) throw error
      violations.push(...error.violations)
      return []
    }
  })
  checkRelations(resolved, clusters, report)
  if (violations.length > 0) throw new OptionsError('Bindings', violations)
  return Object.freeze(resolved)
}

/**
 * What must hold between bindings, and between a binding and the clusters there are: for a binding that joins others
 * later.
 */
export function checkRelations(
  bindings: readonly ResolvedBinding[],
  clusters: readonly string[],
  report: Report,
): void {
  for (const { name, cluster } of bindings) {
    if (clusters.includes(cluster)) continue
    const meant = nearest(cluster, clusters)
    const hint = meant === undefined ? `known are ${clusters.join(', ') || 'none'}` : `did you mean ${meant}?`
    report(
      `${bindingPath(name)}.cluster`,
      `names no cluster of this connector, got ${JSON.stringify(cluster)}; ${hint}`,
    )
  }
  findClashes(bindings, (name, option, problem) => report(`${bindingPath(name)}.${option}`, problem))
}

/** Where a binding is in a connector's options: `bindings.orders`, `bindings["orders.v2"]`. */
function bindingPath(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `bindings.${name}` : `bindings[${JSON.stringify(name)}]`
}

function readBinding(name: string, given: unknown, violations: OptionViolation[]): BindingValues | undefined {
  try {
    return resolveOptions(name, bindingRules, withPreset(given), checkBinding)
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    for (const { path, problem } of error.violations)
      violations.push({ path: path === '' ? bindingPath(name) : `${bindingPath(name)}.${path}`, problem })
    return undefined
  }
}

function assemble(name: string, values: BindingValues): ResolvedBinding {
  const { preset: _, retryTopicNaming: _naming, retry, dlt: _dlt, ...plain } = values
  const { initialBackoffMs, multiplier, maxBackoffMs } = retry.blocking
  const { retryableExceptions, nonRetryableExceptions, skipToTierMapping, classifier } = retry
  return Object.freeze({
    ...plain,
    name,
    tier0: tier0RetryPolicy(retry.tier0),
    tiers: Object.freeze(planTiers(values)),
    exceptions: Object.freeze({ retryableExceptions, nonRetryableExceptions, skipToTierMapping, classifier }),
    blockingBackoff: Object.freeze({
      initialMs: initialBackoffMs,
      multiplier,
      maxMs: maxBackoffMs,
      jitterExceedsMax: false,
    }),
    deadLetter: deadLetterOf(values),
    waitingTopic: values.orderingMode === 'KEY' ? waitingTopic(values) : undefined,
  })
}

function deadLetterOf(values: BindingValues): ResolvedDeadLetter {
  const { topic, topicSuffix, strategy, format, alertHandler } = values.dlt
  return Object.freeze({ topic: topic ?? deadLetterTopic(values, topicSuffix), strategy, format, alertHandler })
}
