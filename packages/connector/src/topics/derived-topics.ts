/** Brings about, or checks, the topics that bindings need beside their sources: tiers, waiting topic, dead letters. */

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

/** A source as far as its derived topics follow from it. */
export interface SourceShape {
  readonly partitions: number
  readonly replication: number
  /** What is set on the topic itself, and the largest record it takes. */
  readonly configs: Readonly<Record<string, string>>
}

/** Another instance may create the same topics at the same time, or an answer may be lost: then one looks again. */
const rounds = 3

/** Every topic that a binding needs beside its source. With `orderingMode: KEY` the tiers are in the waiting topic. */
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
 * Makes sure that the bindings of one cluster can move records away before any of them reads one: a topic that is missing
 * would be noticed with the first failure.
 *
 * @throws {@link SourceTopicMissingError}; {@link DerivedTopicsError} with the plan; PartialFailureError when the cluster
 * refuses or does not answer.
 */
export async function ensureDerivedTopics(
  admin: Admin,
  bindings: readonly ResolvedBinding[],
  mode: DerivedTopicsMode,
  runtime: Pick<Runtime, 'logger'>,
): Promise<void> {
  if (mode === 'ASSUME') return
  // A binding may read the dead letters of another, which have to be there first.
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

/** Creates, and answers whether another look is needed to know what there is now. */
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
  // Copies are those of the source, whose owner has decided about them.
  return planTopology(defineTopology({ environment: 'DEV', topics: mergeDeclarations(declared) }), actual)
}

/**
 * Records find their way whatever the count of a tier or dead letter topic is: one that is there stays as it is. A waiting
 * topic with another count than its source is refused by the plan all the same.
 */
function asItIs(topic: TopicDeclaration, binding: ResolvedBinding, actual: ActualTopology): TopicDeclaration {
  const live = actual.get(topic.name)
  if (live === undefined || binding.derivedPartitions !== undefined) return topic
  return { ...topic, partitions: live.partitions }
}

/** A setting that differs and is safe is somebody's choice. */
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
      yield `binding ${name}: concurrency ${concurrency} is more than the ${countOf(partitions)} of ${topic}: ` +
        'the others have nothing to do'
  }
}

function countOf(partitions: number): string {
  return partitions === 1 ? 'one partition' : `${partitions} partitions`
}

/** What the topics beside the source are called. */
export function derivedNamesOf({ tiers, waitingTopic, deadLetter }: ResolvedBinding): readonly string[] {
  return [...tiers.map(({ topic }) => topic), deadLetter.topic, ...(waitingTopic === undefined ? [] : [waitingTopic])]
}

function namesOf(binding: ResolvedBinding): { readonly name: string; readonly source: string }[] {
  return derivedNamesOf(binding).map((name) => ({ name, source: binding.topic }))
}

/** What the broker says for all topics need not be written on each; the largest record is the exception. */
function shapeOf(source: ActualTopic | undefined): SourceShape {
  const { partitions, replication, configs } = source ?? { partitions: 1, replication: 1, configs: new Map() }
  const own = [...configs].flatMap(([name, { value, isDefault }]): [string, string][] =>
    value === null || (isDefault && name !== 'max.message.bytes') ? [] : [[name, value]],
  )
  return { partitions, replication, configs: Object.fromEntries(own) }
}

/** Those first that read what nobody left derives. */
function wavesOf(bindings: readonly ResolvedBinding[]): (readonly ResolvedBinding[])[] {
  if (bindings.length === 0) return []
  const derived = new Set(bindings.map(({ deadLetter }) => deadLetter.topic))
  const ready = bindings.filter(({ topic }) => !derived.has(topic))
  // A ring has no beginning: its topics are there already, or missing as sources are.
  if (ready.length === 0) return [bindings]
  return [ready, ...wavesOf(bindings.filter(({ topic }) => derived.has(topic)))]
}
