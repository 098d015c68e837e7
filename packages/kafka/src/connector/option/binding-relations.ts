/** What must hold between the options of one binding (S0-196, S0-197, C-83). Pure: reports, decides nothing. */

import {
  checkCircuitBreakerOptions,
  checkExceptionOptions,
  longestBackoffMs,
  planRetryBudget,
  tier0RetryPolicy,
} from '@waybill/core'
import type { Report } from '@waybill/core/option'
import { topicName } from '../../topology/topic-name.ts'
import { type BindingValues, defaultTierDelaysMs } from './binding-rules.ts'
import { checkCombination } from './legal-combinations.ts'
import { planMetadataRoom } from './metadata-room.ts'
import type { ResolvedTier } from './resolved-binding.ts'
import { planTiers } from './tier-plan.ts'
import { deadLetterTopic, waitingTopic } from './topic-names.ts'

/** Reports every relation that is broken. */
export function checkBinding(binding: BindingValues, report: Report): void {
  const tiers = planTiers(binding)
  checkTimeouts(binding, report)
  checkBudget(binding, report)
  checkOrder(binding, report)
  checkCombination({ ...binding, tiers: tiers.length === 0 ? 'NONE' : 'SOME' }, report)
  checkTiers(binding, tiers, report)
  checkExceptionOptions(binding.retry, report, 'retry')
  checkSkips(binding, tiers, report)
  checkCircuitBreakerOptions(binding.circuitBreaker, report, 'circuitBreaker')
  checkProbe(binding, report)
  checkAlert(binding, report)
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

/** BLOCKING_UNLIMITED is exempt: it waits with the partition paused, not in the poll loop (C-47). */
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

function checkOrder({ orderingMode, parallelism }: BindingValues, report: Report): void {
  if (orderingMode === 'KEY' && parallelism !== 'KEY')
    report(
      'parallelism',
      `must be KEY with orderingMode KEY, got ${parallelism}: the lanes are what blocks one key alone`,
    )
  if (orderingMode === 'STRICT' && parallelism === 'UNORDERED')
    report('parallelism', 'must be PARTITION or KEY with orderingMode STRICT, got UNORDERED: it gives up every order')
}

function checkTiers({ retry }: BindingValues, tiers: readonly ResolvedTier[], report: Report): void {
  for (const [at, { delayMs }] of (retry.tiers ?? []).entries()) {
    const path = `retry.tiers[${at}].delayMs`
    if (delayMs === undefined && at >= defaultTierDelaysMs.length) {
      report(path, 'is required: only the first three tiers have a default')
      continue
    }
    const [before, own] = [tiers[at - 1]?.delayMs ?? 0, tiers[at]?.delayMs ?? 0]
    if (own <= before) report(path, `must be above that of the tier before, ${before}, got ${own}`)
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
 * A probe that takes too long counts as failed, and what it has left of its attempts is refused. A record that fails every
 * time would then never come to its last attempt while it is alone in its binding: nobody else would close the circuit.
 */
function checkProbe(binding: BindingValues, report: Report): void {
  const { circuitBreaker, failureProfile, handlerTimeoutMs, retry } = binding
  const { enabled, automaticPauseOnOpen, probeTimeoutMs, slowCallDurationMs } = circuitBreaker
  // Where nothing is given up, or a record that is refused goes on to a tier, a probe may take what it likes.
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
    `must be above what tier 0 may take until its last attempt: ${calls}waits of ${Math.ceil(waitsMs)} ms = ` +
      `${neededMs} ms, got ${probeTimeoutMs}: a record that always fails, alone in its binding, would never be given up; ` +
      'raise it, or lower handlerTimeoutMs or retry.tier0.maxAttempts',
  )
}

function checkAlert({ dlt: { strategy, alertHandler } }: BindingValues, report: Report): void {
  if (strategy === 'ALERT_AND_STORE' && alertHandler === undefined)
    report('dlt.alertHandler', 'is required with strategy ALERT_AND_STORE')
  if (strategy !== 'ALERT_AND_STORE' && alertHandler !== undefined)
    report('dlt.alertHandler', `is never called with strategy ${strategy}: use ALERT_AND_STORE`)
}

/** Names are made of a group id, which may hold anything, and of suffixes: they need not be names that Kafka takes. */
function checkNames(binding: BindingValues, tiers: readonly ResolvedTier[], report: Report): void {
  if (!checkGroupInNames(binding, report)) return
  const pathByName = new Map([[binding.topic, 'topic']])
  for (const [path, name] of namesOf(binding, tiers)) {
    const first = pathByName.get(name)
    if (!topicName.pattern.test(name)) report(path, `makes the name ${name}, which is not ${topicName.called}`)
    else if (first !== undefined) report(path, `makes the name ${name}, which ${first} has: each topic needs its own`)
    else pathByName.set(name, path)
  }
}

function checkGroupInNames({ groupId, retryTopicNaming, orderingMode }: BindingValues, report: Report): boolean {
  const isInNames = retryTopicNaming === 'PER_GROUP' || orderingMode === 'KEY'
  if (!isInNames || topicName.pattern.test(groupId)) return true
  const why = orderingMode === 'KEY' ? 'orderingMode KEY' : 'retryTopicNaming PER_GROUP'
  report('groupId', `is part of topic names with ${why}, and must be ${topicName.called}`)
  return false
}

/** Each derived topic with the option that decides its name. */
function namesOf(binding: BindingValues, tiers: readonly ResolvedTier[]): [path: string, name: string][] {
  const { orderingMode, retry, dlt } = binding
  const tierPath = (at: number): string => (retry.tiers === undefined ? 'topic' : `retry.tiers[${at}].topicSuffix`)
  return [
    ...(orderingMode === 'KEY'
      ? [['topic', waitingTopic(binding)] satisfies [string, string]]
      : tiers.map(({ topic }, at): [string, string] => [tierPath(at), topic])),
    dlt.topic === undefined ? ['dlt.topicSuffix', deadLetterTopic(binding, dlt.topicSuffix)] : ['dlt.topic', dlt.topic],
  ]
}

function checkMetadata(binding: BindingValues, report: Report): void {
  const { fits, arithmetic } = planMetadataRoom(binding)
  if (!fits) report('maxAhead', `is more than a commit can remember: ${arithmetic}`)
}
