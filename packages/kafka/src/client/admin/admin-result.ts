/**
 * What became of each thing that was asked for. An admin request names many topics, partitions or groups, and a broker
 * answers for each alone: one that is missing says nothing about its neighbours, so it must not hide what became of them.
 */

import { WaybillError } from '@waybill/core'
import { KafkaError } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'

/** It was done, or it failed for a reason of its own. */
export type AdminResult<T = object> =
  | ({ readonly outcome: 'DONE' } & T)
  | { readonly outcome: 'FAILED'; readonly error: KafkaError }

/** What became of one topic. */
export type TopicResult<T = object> = { readonly topic: string } & AdminResult<T>

/** What became of one partition. */
export type PartitionResult<T = object> = TopicPartition & AdminResult<T>

/** What became of one group. */
export type GroupResult<T = object> = { readonly groupId: string } & AdminResult<T>

/** One thing that failed, by its name. */
export interface NamedFailure {
  /** A topic, `topic-partition`, or a group. */
  readonly subject: string
  readonly error: KafkaError
}

/** Some of what was asked for was not done, and all of it is listed. */
export class PartialFailureError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_PARTIAL_FAILURE'
  readonly failures: readonly NamedFailure[]
  /** What became of each, in the order asked for: those that were done too. */
  readonly outcomes: readonly AnyAdminResult[]

  constructor(what: string, failures: readonly NamedFailure[], outcomes: readonly AnyAdminResult[]) {
    const total = outcomes.length
    // What failed for the same reason stands on one line.
    const byReason = Map.groupBy(failures, ({ error }) => error.message)
    const lines = [...byReason].map(([reason, all]) => `\n  ${all.map(({ subject }) => subject).join(', ')}: ${reason}`)
    super(`${what}: ${failures.length} of ${total} failed:${lines.join('')}\n `, {
      cause: failures[0]?.error,
      impact: total > failures.length ? 'The others were done.' : 'Nothing else was asked for.',
    })
    this.failures = failures
    this.outcomes = outcomes
  }
}

/** What became of a topic, a partition or a group. */
export type AnyAdminResult = Partial<TopicPartition & { readonly groupId: string }> & AdminResult

/**
 * The outcomes, once all of them are known to be done.
 *
 * @throws {@link PartialFailureError} that names each one that failed.
 */
export function requireAllDone<R extends AnyAdminResult>(
  what: string,
  outcomes: readonly R[],
): Extract<R, { readonly outcome: 'DONE' }>[] {
  const failures = outcomes.flatMap((one: AnyAdminResult): NamedFailure[] =>
    one.outcome === 'FAILED' ? [{ subject: subjectOf(one), error: one.error }] : [],
  )
  if (failures.length > 0) throw new PartialFailureError(what, failures, outcomes)
  return outcomes as Extract<R, { readonly outcome: 'DONE' }>[]
}

/**
 * What became of each, for a call that rejects when something was not done: of one that changes things.
 *
 *     const outcomes = await outcomesOf(admin.createTopics(topics))
 */
export async function adminResultsOf<R extends AnyAdminResult>(call: Promise<readonly R[]>): Promise<readonly R[]> {
  try {
    return await call
  } catch (error) {
    // Those of this very call: nothing else throws it.
    if (error instanceof PartialFailureError) return error.outcomes as readonly R[]
    throw error
  }
}

/** What became of that of which this was answered. */
export function outcomeOf<T, V extends object>(answer: T | KafkaError, valueOf: (answer: T) => V): AdminResult<V> {
  return answer instanceof KafkaError ? { outcome: 'FAILED', error: answer } : { outcome: 'DONE', ...valueOf(answer) }
}

function subjectOf({ topic = '', partition, groupId }: AnyAdminResult): string {
  return groupId ?? (partition === undefined ? topic : partitionName({ topic, partition }))
}
