/** What must hold between the options of one binding (S0-196, S0-197, C-83). Pure: reports, decides nothing. */

import { checkCircuitBreakerOptions, checkExceptionOptions, planRetryBudget, tier0RetryPolicy } from '@waybill/core'
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
