/** Resolves the options of bindings, or reports all violations at once. */

import { type Logger, noopLogger, OptionsError } from '@waybill/core'
import { type OptionViolation } from '@waybill/core/internal'
import { type Report, resolveOptions } from '@waybill/core/option'
import type { Binding, ReplayTarget } from '../api/binding.ts'
import { defaultCluster } from '../api/define-binding.ts'
import type { ResolvedBinding, ResolvedDeadLetter } from '../binding/resolved-binding.ts'
import { safeRedact } from '../records/failure-text.ts'
import { findClashes } from './binding-clashes.ts'
import { checkDeclared } from './binding-relations.ts'
import { type BindingValues, bindingRules, type DeclaredValues } from './binding-rules.ts'
import { findWarnings } from './binding-warnings.ts'
import { effectiveOptions } from './effective-options.ts'
import { foreignOption } from './foreign-names.ts'
import { withListenerDefaults } from './listener-defaults.ts'
import { withPreset } from './presets.ts'
import { planTiers } from './tier-plan.ts'
import { tier0RetryPolicy } from './tier0-retry.ts'
import { deadLetterTopic, replayGroupId, waitingTopic } from './topic-names.ts'
import { describeTopics, isOneTopic, listedTopics } from './topic-selection.ts'
import { unknownName } from './unknown-name.ts'

/** The name is part of container names and static member ids, and a label of every metric. */
const bindingName = /^[A-Za-z0-9._-]{1,100}$/

/**
 * Applies preset and defaults, and checks everything that can be checked without a cluster. Logs a warning for options
 * that are legal but probably a mistake.
 *
 * @throws OptionsError with every violation and its path
 */
export function resolveBinding(name: string, given: Binding, logger: Logger = noopLogger): ResolvedBinding {
  const violations: OptionViolation[] = []
  if (!bindingName.test(name))
    violations.push({
      path: bindingPath(name),
      problem: 'must be a name of at most 100 letters, digits, dots, underscores and hyphens',
    })
  const values = readBinding(name, given, violations)
  if (values === undefined || violations.length > 0) throw new OptionsError(`Binding ${name}`, violations)
  findWarnings(values, { ...given }, (path, problem) =>
    logger.warn({ binding: name, option: path }, `${path} ${problem}`),
  )
  return assemble(name, values)
}

/**
 * Resolves all bindings of a connector, and checks the relations between them. `clusters` are the names of the
 * connector's clusters.
 *
 * @throws OptionsError with every violation and its path
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
      checkCluster(name, (binding as Partial<Binding> | null)?.cluster ?? defaultCluster, clusters, report)
      return []
    }
  })
  checkRelations(resolved, clusters, report)
  if (violations.length > 0) throw new OptionsError('Bindings', violations)
  return Object.freeze(resolved)
}

/** Checks the relations between bindings, and between bindings and clusters. */
export function checkRelations(
  bindings: readonly ResolvedBinding[],
  clusters: readonly string[],
  report: Report,
): void {
  // Several may be parts of one binding, which is reported once.
  const strangers = new Map(
    bindings.filter(({ cluster }) => !clusters.includes(cluster)).map((one) => [`${one.cluster}:${one.name}`, one]),
  )
  for (const { name, cluster } of strangers.values()) checkCluster(name, cluster, clusters, report)
  findClashes(bindings.flatMap(partsOf), (name, option, problem) => report(insideBinding(name, option), problem))
}

/** Reports an unknown cluster, also for a binding with other violations, so that one error lists all of them. */
function checkCluster(name: string, cluster: unknown, clusters: readonly string[], report: Report): void {
  // The rules report anything that is not a name.
  if (typeof cluster !== 'string' || cluster === '' || clusters.includes(cluster)) return
  report(insideBinding(name, 'cluster'), unknownName('cluster of this connector', cluster, clusters))
}

/** Returns one binding for each listed topic; none for an expression, whose topics are not known without a request. */
export function partsOf(binding: ResolvedBinding): readonly ResolvedBinding[] {
  const { topic, selection, forTopic } = binding
  if (isOneTopic(selection) || topic !== describeTopics(selection)) return [binding]
  return listedTopics(selection)?.map((one) => forTopic(one)) ?? []
}

function insideBinding(name: string, path: string): string {
  const dot = path === '' || path.startsWith('[') ? '' : '.'
  return `${bindingPath(name)}${dot}${path}`
}

/** Returns the path of a binding in the connector's options: `bindings.orders`, `bindings["orders.v2"]`. */
export function bindingPath(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `bindings.${name}` : `bindings[${JSON.stringify(name)}]`
}

function readBinding(name: string, given: unknown, violations: OptionViolation[]): DeclaredValues | undefined {
  try {
    return resolveOptions(name, bindingRules, withListenerDefaults(withPreset(given)), checkDeclared)
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    for (const { path, problem } of error.violations)
      violations.push({ path: insideBinding(name, path), problem: foreignOption(path) ?? problem })
    return undefined
  }
}

function assemble(name: string, declared: DeclaredValues): ResolvedBinding {
  const { topic: selection } = declared
  const tiers = planTiers({ ...declared, topic: describeTopics(selection) })
  const effective = effectiveOptions(declared, { tiers, replayTarget: replayTargetOf(declared) })
  const forTopic = (topic: string): ResolvedBinding =>
    assembleOne(name, { ...declared, topic }, { selection, effective, forTopic })
  return forTopic(describeTopics(selection))
}

function assembleOne(
  name: string,
  values: BindingValues,
  of: Pick<ResolvedBinding, 'selection' | 'effective' | 'forTopic'>,
): ResolvedBinding {
  const { preset: _, retryTopicNaming, keyOrder, retry, dlt: _dlt, redactErrors: _redact, ...plain } = values
  const { initialBackoffMs, multiplier, maxBackoffMs } = retry.blocking
  const { retryableExceptions, nonRetryableExceptions, skipToTierMapping, classifier } = retry
  const tiers = Object.freeze(planTiers(values))
  const deadLetter = deadLetterOf(values)
  const isKeyed = values.orderingMode === 'KEY'
  // A dead letter topic with an explicit name is shared on purpose.
  const shared = [
    ...(isKeyed ? [] : tiers.map(({ topic }) => topic)),
    ...(values.dlt.topic === undefined ? [deadLetter.topic] : []),
  ]
  return Object.freeze({
    ...plain,
    ...keyOrder,
    ...of,
    name,
    tier0: tier0RetryPolicy(retry.tier0),
    tiers,
    exceptions: Object.freeze({ retryableExceptions, nonRetryableExceptions, skipToTierMapping, classifier }),
    blockingBackoff: Object.freeze({
      initialMs: initialBackoffMs,
      multiplier,
      maxMs: maxBackoffMs,
      jitterExceedsMax: false,
    }),
    deadLetter,
    sharedTopics: Object.freeze(retryTopicNaming === 'PER_GROUP' ? [] : shared),
    waitingTopic: isKeyed ? waitingTopic(values) : undefined,
  })
}

function replayTargetOf({ dlt, orderingMode }: Pick<BindingValues, 'dlt' | 'orderingMode'>): ReplayTarget {
  return dlt.replay.target ?? (orderingMode === 'KEY' ? 'BINDING' : 'ORIGINAL')
}

function deadLetterOf(values: BindingValues): ResolvedDeadLetter {
  const { topic, topicSuffix, strategy, format, alertHandler, recordHandler, replay } = values.dlt
  return Object.freeze({
    topic: topic ?? deadLetterTopic(values, topicSuffix),
    strategy,
    format,
    alertHandler,
    recordHandler,
    redact: safeRedact(values.redactErrors),
    replay: Object.freeze({
      ...replay,
      groupId: replayGroupId(values),
      target: replayTargetOf(values),
    }),
  })
}
