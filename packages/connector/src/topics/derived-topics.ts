/** Creates or verifies the topics that bindings derive from their sources: tiers, waiting topics, dead letters. */

import { type Runtime, UnreachableError } from '@waybill/core'
import {
  type Admin,
  applyTopology,
  defineTopology,
  deriveDeadLetterTopic,
  deriveTier,
  deriveWaiting,
  PartialFailureError,
  planTopology,
  readTopology,
  type TopicDeclaration,
  type TopologyPlan,
} from '@waybill/kafka'
import { type ActualTopic, type ActualTopology, type PlanStep } from '@waybill/kafka/internal'
import type { DerivedTopicsMode } from '../api/connector.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { withGrownWaitingTopics } from './grow-waiting-topics.ts'
import { mergeDeclarations } from './merge-declarations.ts'
import { DerivedTopicsError, SourceTopicMissingError } from './topic-errors.ts'

/** The properties of a source topic that its derived topics inherit. */
export interface SourceShape {
  readonly partitions: number
  readonly replication: number
  /** The configuration set on the topic itself, and its maximum record size. */
  readonly configs: Readonly<Record<string, string>>
}

/** Attempts to read and create topics: another instance may create them concurrently, or a response may be lost. */
const rounds = 3

/** Returns the derived topics of a binding. With `orderingMode: KEY` the tiers share the waiting topic. */
export function derivedTopicsOf(binding: ResolvedBinding, shape: SourceShape): TopicDeclaration[] {
  const { topic, groupId, tiers, waitingTopic, deadLetter, derivedPartitions: partitions } = binding
  const source = { name: topic, ...shape }
  return [
    ...(waitingTopic === undefined
      ? tiers.map((tier) => deriveTier(source, tier.tier, tier.delayMs, { name: tier.topic, partitions }))
      : [deriveWaiting(source, groupId)]),
    deriveDeadLetterTopic(source, { name: deadLetter.topic, partitions }),
  ]
}

/**
 * Ensures that the derived topics of one cluster's bindings exist before any record is read. Otherwise a missing topic
 * would only be noticed at the first failure.
 *
 * @throws {@link SourceTopicMissingError}; {@link DerivedTopicsError} with the plan; PartialFailureError if the cluster
 * rejects a request or does not respond
 */
export async function ensureDerivedTopics(
  admin: Admin,
  bindings: readonly ResolvedBinding[],
  mode: DerivedTopicsMode,
  runtime: Pick<Runtime, 'logger'>,
): Promise<void> {
  if (mode === 'ASSUME') return
  // A binding may read the dead letters of another, which must be created first.
  for (const wave of wavesOf(bindings)) await ensureWave(admin, wave, mode, runtime)
}

async function ensureWave(
  admin: Admin,
  bindings: readonly ResolvedBinding[],
  mode: Exclude<DerivedTopicsMode, 'ASSUME'>,
  { logger }: Pick<Runtime, 'logger'>,
): Promise<void> {
  for (let round = 1; bindings.length > 0; round++) {
    const found = await readTopology(admin, { topics: bindings.flatMap(namesOf) })
    const actual = mode === 'CREATE' ? await withGrownWaitingTopics(admin, bindings, found) : found
    const plan = planFor(bindings, actual)
    refuse(plan, mode)
    const missing = plan.steps.filter(({ kind }) => kind === 'CREATE')
    if (missing.length > 0 && (await isUnsure(admin, missing, round))) continue
    for (const text of remarksOn(plan, bindings, actual)) logger.warn({}, text)
    return
  }
}

/** Creates topics. Returns whether the topology must be read again, because the outcome is uncertain. */
async function isUnsure(admin: Admin, steps: readonly PlanStep[], round: number): Promise<boolean> {
  try {
    const { existed } = await applyTopology(admin, { steps, warnings: [] })
    return existed.length > 0 && round < rounds
  } catch (error) {
    const isUnknown =
      error instanceof PartialFailureError && error.failures.every((one) => one.error.kind === 'UNKNOWN')
    if (isUnknown && round < rounds) return true
    throw error
  }
}

/** @throws {@link SourceTopicMissingError} */
function planFor(bindings: readonly ResolvedBinding[], actual: ActualTopology): TopologyPlan {
  const missing = bindings.filter(({ topic }) => !actual.has(topic))
  if (missing.length > 0)
    throw new SourceTopicMissingError(missing.map(({ name, topic }) => ({ binding: name, topic })))
  const declared = bindings.flatMap((binding) =>
    derivedTopicsOf(binding, shapeOf(actual.get(binding.topic))).map((topic) => asItIs(topic, binding, actual)),
  )
  // DEV, since the replication factor is that of the source, as its owner chose it.
  return planTopology(defineTopology({ environment: 'DEV', topics: mergeDeclarations(declared) }), actual)
}

/**
 * Accepts the partition count of an existing tier or dead letter topic, since any count works. The plan still rejects a
 * waiting topic whose count differs from its source.
 */
function asItIs(topic: TopicDeclaration, binding: ResolvedBinding, actual: ActualTopology): TopicDeclaration {
  const live = actual.get(topic.name)
  if (live === undefined || binding.derivedPartitions !== undefined) return topic
  return { ...topic, partitions: live.partitions }
}

/** Throws if the plan has illegal differences. Safe differences count as deliberate. */
function refuse({ steps, warnings }: TopologyPlan, mode: Exclude<DerivedTopicsMode, 'ASSUME'>): void {
  const refused = steps.filter((step) => isRefused(step, mode))
  if (refused.length > 0) throw new DerivedTopicsError({ steps: refused, warnings }, mode)
}

function isRefused(step: PlanStep, mode: Exclude<DerivedTopicsMode, 'ASSUME'>): boolean {
  switch (step.kind) {
    case 'CREATE':
      return mode === 'VERIFY'
    case 'DIFFERENT_PARTITIONS':
    case 'CONFIG_UNSAFE':
      return true
    case 'CONFIG_CHANGE':
    case 'REPLICATION_DIFFERS':
      return false
    default:
      throw new UnreachableError(step)
  }
}

function* remarksOn(
  { warnings }: TopologyPlan,
  bindings: readonly ResolvedBinding[],
  actual: ActualTopology,
): Generator<string> {
  for (const { topic, problem } of warnings) yield `${topic}: ${problem}`
  for (const { name, topic, concurrency } of bindings) {
    const partitions = actual.get(topic)?.partitions ?? 0
    if (concurrency > partitions)
      yield `binding ${name}: concurrency ${concurrency} exceeds the ${countOf(partitions)} of ${topic}: ` +
        'the remaining members are idle'
  }
}

function countOf(partitions: number): string {
  return partitions === 1 ? 'one partition' : `${partitions} partitions`
}

/** Returns the names of the derived topics. */
export function derivedNamesOf({ tiers, waitingTopic, deadLetter }: ResolvedBinding): readonly string[] {
  return [...tiers.map(({ topic }) => topic), deadLetter.topic, ...(waitingTopic === undefined ? [] : [waitingTopic])]
}

function namesOf(binding: ResolvedBinding): { readonly name: string; readonly source: string }[] {
  return derivedNamesOf(binding).map((name) => ({ name, source: binding.topic }))
}

/** Returns the shape of a source. Broker defaults are omitted, except for the maximum record size. */
function shapeOf(source: ActualTopic | undefined): SourceShape {
  const { partitions, replication, configs } = source ?? { partitions: 1, replication: 1, configs: new Map() }
  const own = [...configs].flatMap(([name, { value, isDefault }]): [string, string][] =>
    value === null || (isDefault && name !== 'max.message.bytes') ? [] : [[name, value]],
  )
  return { partitions, replication, configs: Object.fromEntries(own) }
}

/** Orders bindings so that each follows those that derive its source. */
function wavesOf(bindings: readonly ResolvedBinding[]): (readonly ResolvedBinding[])[] {
  if (bindings.length === 0) return []
  const derived = new Set(bindings.map(({ deadLetter }) => deadLetter.topic))
  const ready = bindings.filter(({ topic }) => !derived.has(topic))
  // A cycle: its topics exist already, or are reported as missing sources.
  if (ready.length === 0) return [bindings]
  return [ready, ...wavesOf(bindings.filter(({ topic }) => derived.has(topic)))]
}
