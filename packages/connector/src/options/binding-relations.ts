/** Checks the relations between the options of one binding. Pure. */

import {
  checkCircuitBreakerOptions,
  checkExceptionOptions,
  longestBackoffMs,
  planRetryBudget,
} from '@waybill/core/internal'
import type { Report } from '@waybill/core/option'
import { topicName } from '@waybill/kafka/internal'
import { isBatchHandler } from '../api/is-batch-handler.ts'
import type { ResolvedTier } from '../binding/resolved-binding.ts'
import { type BindingValues, type DeclaredValues, defaultTierDelaysMs } from './binding-rules.ts'
import { checkDecode } from './decode-rules.ts'
import { checkDeduplicate } from './deduplicate-rules.ts'
import { checkCombination } from './legal-combinations.ts'
import { planMetadataRoom } from './metadata-room.ts'
import { planTiers } from './tier-plan.ts'
import { tier0RetryPolicy } from './tier0-retry.ts'
import { deadLetterTopic, waitingTopic } from './topic-names.ts'
import { listedTopics } from './topic-selection.ts'
import { checkTransactional } from './transaction-rules.ts'

/** A placeholder for a topic that an expression will match. */
const anyTopic = 'any-topic'

/** Reports every violated relation between options, and between the topics of the binding. */
export function checkDeclared(declared: DeclaredValues, report: Report): void {
  const [first = anyTopic, ...others] = listedTopics(declared.topic) ?? []
  checkBinding({ ...declared, topic: first }, report)
  for (const topic of others) {
    const binding = { ...declared, topic }
    // A violation of the group is reported with the first topic.
    if (isGroupInNamesLegal(binding)) checkNames(binding, planTiers(binding), report)
  }
  checkTopics([first, ...others], declared, report)
}

/** Reports topics that another topic derives: they would be read twice, and their failures would loop. */
function checkTopics(topics: readonly string[], declared: DeclaredValues, report: Report): void {
  const sourceByName = new Map<string, string>()
  for (const topic of topics) {
    const binding = { ...declared, topic }
    for (const { path, name } of namesOf(binding, planTiers(binding))) {
      const other = sourceByName.get(name)
      // A dead letter topic with an explicit name is shared by all topics.
      if (other !== undefined && other !== topic && name !== declared.dlt.topic)
        report(path, `produces the name ${name} for both ${other} and ${topic}: each topic needs its own`)
      sourceByName.set(name, topic)
    }
  }
  for (const [at, topic] of topics.entries()) {
    const source = sourceByName.get(topic)
    if (topics.indexOf(topic) < at) report(`topic[${at}]`, `${topic} is already in the list`)
    else if (topics.length > 1 && source !== undefined && source !== topic)
      report(`topic[${at}]`, `${topic} receives the failures of ${source}: it needs its own binding`)
  }
}

/** Reports every violated relation between options. */
function checkBinding(binding: BindingValues, report: Report): void {
  const tiers = planTiers(binding)
  checkTimeouts(binding, report)
  checkBudget(binding, report)
  checkStart(binding, report)
  checkOrder(binding, report)
  checkListener(binding, report)
  checkCombination({ ...binding, ...binding.keyOrder, tiers: tiers.length === 0 ? 'NONE' : 'SOME' }, report)
  checkTiers(binding, tiers, report)
  checkExceptionOptions(binding.retry, report, 'retry')
  checkSkips(binding, tiers, report)
  checkCircuitBreakerOptions(binding.circuitBreaker, report, 'circuitBreaker')
  checkProbe(binding, report)
  checkAlert(binding, report)
  checkReplay(binding, tiers, report)
  checkDecode(binding, report)
  checkDeduplicate(binding, report)
  checkTransactional(binding, report)
  checkNames(binding, tiers, report)
  checkMetadata(binding, report)
}

function checkTimeouts({ sessionTimeoutMs, heartbeatIntervalMs }: BindingValues, report: Report): void {
  const least = 3 * heartbeatIntervalMs
  if (sessionTimeoutMs >= least) return
  report(
    'sessionTimeoutMs',
    `must be at least 3 x heartbeatIntervalMs (3 x ${heartbeatIntervalMs} = ${least}), got ${sessionTimeoutMs}: ` +
      'one lost heartbeat would end the session',
  )
}

/** BLOCKING_UNLIMITED is exempt: it waits with the partition paused, not in the poll loop. */
function checkBudget(binding: BindingValues, report: Report): void {
  if (binding.failureProfile === 'BLOCKING_UNLIMITED') return
  const { fits, arithmetic } = planRetryBudget({ ...binding, policy: tier0RetryPolicy(binding.retry.tier0) })
  if (fits) return
  report(
    'retry.tier0',
    `waits longer than a poll may take: ${arithmetic}; lower maxAttempts, the backoffs or maxPollRecords, ` +
      'or raise maxPollIntervalMs',
  )
}

/** Offsets that commit with outputs, or beside those of a waiting topic, cannot be moved apart from them. */
function checkStart({ startOffsets, transactional, orderingMode }: BindingValues, report: Report): void {
  if (startOffsets === undefined) return
  if (transactional !== false)
    report('startOffsets', 'must not be set with transactional: its offsets commit together with its outputs')
  if (orderingMode === 'KEY')
    report('startOffsets', 'must not be set with orderingMode KEY: the offsets of its waiting topic belong to them')
}

function checkOrder({ orderingMode, parallelism, oversizedBatch }: BindingValues, report: Report): void {
  if (orderingMode === 'KEY' && oversizedBatch === 'DEAD_LETTER')
    report(
      'oversizedBatch',
      'must be HALT with orderingMode KEY, got DEAD_LETTER: the keys of its records are unknown, ' +
        'so that later records of these keys could not be held back',
    )
  if (orderingMode === 'KEY' && parallelism !== 'KEY')
    report(
      'parallelism',
      `must be KEY with orderingMode KEY, got ${parallelism}: only lanes by key can block a single key`,
    )
  if (orderingMode === 'STRICT' && parallelism === 'UNORDERED')
    report('parallelism', 'must be PARTITION or KEY with orderingMode STRICT, got UNORDERED: UNORDERED keeps no order')
}

/** A batch is a consecutive part of a partition, which lanes by key would split. */
function checkListener({ listenerType, handler, parallelism }: BindingValues, report: Report): void {
  if (listenerType === 'SINGLE') {
    if (isBatchHandler(handler)) report('listenerType', 'must be BATCH with a handler that has handleBatch, got SINGLE')
    return
  }
  if (parallelism !== 'PARTITION')
    report(
      'parallelism',
      `must be PARTITION with listenerType BATCH, got ${parallelism}: a batch is handled in the order of its partition`,
    )
}

function checkTiers({ retry }: BindingValues, tiers: readonly ResolvedTier[], report: Report): void {
  for (const [at, { delayMs }] of (retry.tiers ?? []).entries()) {
    const path = `retry.tiers[${at}].delayMs`
    if (delayMs === undefined && at >= defaultTierDelaysMs.length) {
      report(path, 'is required: only the first three tiers have a default')
      continue
    }
    const [before, own] = [tiers[at - 1]?.delayMs ?? 0, tiers[at]?.delayMs ?? 0]
    if (own <= before) report(path, `must be above that of the previous tier, ${before}, got ${own}`)
  }
}

function checkSkips({ retry }: BindingValues, tiers: readonly ResolvedTier[], report: Report): void {
  for (const [matcher, tier] of retry.skipToTierMapping) {
    if (tier <= tiers.length) continue
    const error = typeof matcher === 'string' ? matcher : matcher.name || 'a predicate'
    const known = tiers.length === 0 ? 'the binding has no tiers' : `the tiers are 1 to ${tiers.length}`
    report('retry.skipToTierMapping', `maps ${error} to tier ${tier}, and ${known}`)
  }
}

/**
 * A probe that takes too long counts as failed, and its remaining attempts are rejected. A record that always fails and
 * is alone in its binding would then never reach its last attempt, since no other record closes the circuit.
 */
function checkProbe(binding: BindingValues, report: Report): void {
  const { circuitBreaker, failureProfile, handlerTimeoutMs, retry } = binding
  const { enabled, automaticPauseOnOpen, probeTimeoutMs, slowCallDurationMs } = circuitBreaker
  // Without a pause on open, a rejected record moves to a tier; BLOCKING_UNLIMITED has no last attempt.
  if (!enabled || !automaticPauseOnOpen || failureProfile === 'BLOCKING_UNLIMITED') return
  const { maxAttempts, backoff } = tier0RetryPolicy(retry.tier0)
  const repeats = maxAttempts - 1
  const waitsMs = Array.from({ length: repeats }, (_, at) => longestBackoffMs(backoff, at + 1)).reduce(
    (a, b) => a + b,
    0,
  )
  const callsMs = handlerTimeoutMs === false ? 0 : repeats * handlerTimeoutMs
  const neededMs = Math.ceil(waitsMs + callsMs)
  if (neededMs < Math.max(probeTimeoutMs, slowCallDurationMs)) return
  const calls = handlerTimeoutMs === false ? '' : `${repeats} x ${handlerTimeoutMs} ms of handlerTimeoutMs, and `
  report(
    'circuitBreaker.probeTimeoutMs',
    `must be above the longest time until the last attempt of tier 0: ${calls}waits of ${Math.ceil(waitsMs)} ms = ` +
      `${neededMs} ms, got ${probeTimeoutMs}: a record that always fails, alone in its binding, would never be dead; ` +
      'raise it, or lower handlerTimeoutMs or retry.tier0.maxAttempts',
  )
}

/** Reports replay settings that would fail at the first scheduled run. */
function checkReplay(binding: BindingValues, tiers: readonly ResolvedTier[], report: Report): void {
  const { dlt, orderingMode, keyOrder } = binding
  const { strategy, recordHandler, replay } = dlt
  if (strategy === 'CUSTOM' && recordHandler === undefined)
    report('dlt.recordHandler', 'is required with strategy CUSTOM')
  if (strategy !== 'CUSTOM' && recordHandler !== undefined)
    report('dlt.recordHandler', `is never called with strategy ${strategy}: use CUSTOM`)
  if (replay.target === 'BINDING' && tiers.length === 0 && orderingMode !== 'KEY')
    report('dlt.replay.target', 'is BINDING, but the binding has no tiers: use ORIGINAL')
  if (replay.target === 'ORIGINAL' && orderingMode === 'KEY' && keyOrder.onDeadKey === 'BLOCK')
    report(
      'dlt.replay.target',
      'is ORIGINAL: with keyOrder.onDeadKey BLOCK a copy would wait behind its own key; use BINDING',
    )
}

function checkAlert({ dlt: { strategy, alertHandler } }: BindingValues, report: Report): void {
  if (strategy === 'ALERT_AND_STORE' && alertHandler === undefined)
    report('dlt.alertHandler', 'is required with strategy ALERT_AND_STORE')
  if (strategy !== 'ALERT_AND_STORE' && alertHandler !== undefined)
    report('dlt.alertHandler', `is never called with strategy ${strategy}: use ALERT_AND_STORE`)
}

/** Reports derived names that Kafka does not accept: they contain suffixes and the group id, which may be any text. */
function checkNames(binding: BindingValues, tiers: readonly ResolvedTier[], report: Report): void {
  if (!checkGroupInNames(binding, report)) return
  const ownerByName = new Map([[binding.topic, 'topic']])
  for (const { path, name, owner } of namesOf(binding, tiers)) {
    const first = ownerByName.get(name)
    if (!topicName.pattern.test(name)) report(path, `produces the name ${name}, which is not ${topicName.called}`)
    else if (first !== undefined)
      report(path, `produces the name ${name}, which ${first} already has: each topic needs its own`)
    else ownerByName.set(name, owner)
  }
}

function isGroupInNamesLegal({ groupId, retryTopicNaming, orderingMode }: BindingValues): boolean {
  const isInNames = retryTopicNaming === 'PER_GROUP' || orderingMode === 'KEY'
  return !isInNames || topicName.pattern.test(groupId)
}

function checkGroupInNames(binding: BindingValues, report: Report): boolean {
  if (isGroupInNamesLegal(binding)) return true
  const { orderingMode } = binding
  const why = orderingMode === 'KEY' ? 'orderingMode KEY' : 'retryTopicNaming PER_GROUP'
  report('groupId', `is part of topic names with ${why}: must be ${topicName.called}`)
  return false
}

/** A derived topic, the path of the option that sets its name, and its owner. */
interface DerivedName {
  readonly path: string
  readonly name: string
  readonly owner: string
}

function namesOf(binding: BindingValues, tiers: readonly ResolvedTier[]): readonly DerivedName[] {
  const { orderingMode, retry, dlt } = binding
  const moved =
    orderingMode === 'KEY'
      ? [{ path: 'topic', name: waitingTopic(binding), owner: 'orderingMode KEY' }]
      : tiers.map(({ topic: name, tier }) => {
          const path = `retry.tiers[${tier - 1}].topicSuffix`
          return retry.tiers === undefined
            ? { path: 'topic', name, owner: `tier ${tier}` }
            : { path, name, owner: path }
        })
  const path = dlt.topic === undefined ? 'dlt.topicSuffix' : 'dlt.topic'
  return [...moved, { path, name: dlt.topic ?? deadLetterTopic(binding, dlt.topicSuffix), owner: path }]
}

function checkMetadata(binding: BindingValues, report: Report): void {
  const { fits, arithmetic } = planMetadataRoom({ ...binding, ...binding.keyOrder })
  if (!fits) report('maxAhead', `exceeds the metadata of a commit: ${arithmetic}`)
}
