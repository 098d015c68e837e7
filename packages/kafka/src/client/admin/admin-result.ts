/**
 * Results of admin calls. An admin request names many topics, partitions or groups, and a broker answers for each
 * separately. So the failure of one must not hide the results of the others.
 */

import { WaybillError } from '@waybill/core'
import { KafkaError } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'

/** The result of an admin call for one topic, partition or group. */
export type AdminResult<T = object> =
  | ({ readonly outcome: 'DONE' } & T)
  | { readonly outcome: 'FAILED'; readonly error: KafkaError }

/** The result for one topic. */
export type TopicResult<T = object> = { readonly topic: string } & AdminResult<T>

/** The result for one partition. */
export type PartitionResult<T = object> = TopicPartition & AdminResult<T>

/** The result for one group. */
export type GroupResult<T = object> = { readonly groupId: string } & AdminResult<T>

/** The failure of one topic, partition or group. */
export interface NamedFailure {
  /** A topic, `topic-partition`, or a group. */
  readonly subject: string
  readonly error: KafkaError
}

/** Reports that an admin call failed for some of its items, and lists all results. */
export class PartialFailureError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_PARTIAL_FAILURE'
  readonly failures: readonly NamedFailure[]
  /** The results of all items in the order requested, including the successful ones. */
  readonly outcomes: readonly AnyAdminResult[]

  constructor(what: string, failures: readonly NamedFailure[], outcomes: readonly AnyAdminResult[]) {
    const total = outcomes.length
    // Failures with the same reason share a line.
    const byReason = Map.groupBy(failures, ({ error }) => error.message)
    const lines = [...byReason].map(([reason, all]) => `\n  ${all.map(({ subject }) => subject).join(', ')}: ${reason}`)
    super(`${what}: ${failures.length} of ${total} failed:${lines.join('')}\n `, {
      cause: failures[0]?.error,
      impact: total > failures.length ? 'The others were done.' : 'Nothing else was requested.',
    })
    this.failures = failures
    this.outcomes = outcomes
  }
}

/** The result for a topic, a partition or a group. */
export type AnyAdminResult = Partial<TopicPartition & { readonly groupId: string }> & AdminResult

/**
 * Returns the results if all of them are DONE.
 *
 * @throws {@link PartialFailureError} that names each item that failed.
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
 * Returns the result of each item for a call that rejects when one of them failed.
 *
 *     const results = await adminResultsOf(admin.createTopics(topics))
 */
export async function adminResultsOf<R extends AnyAdminResult>(call: Promise<readonly R[]>): Promise<readonly R[]> {
  try {
    return await call
  } catch (error) {
    // Only this call throws it, so these are its own results.
    if (error instanceof PartialFailureError) return error.outcomes as readonly R[]
    throw error
  }
}

/** Converts a broker's response to an {@link AdminResult}. */
export function outcomeOf<T, V extends object>(answer: T | KafkaError, valueOf: (answer: T) => V): AdminResult<V> {
  return answer instanceof KafkaError ? { outcome: 'FAILED', error: answer } : { outcome: 'DONE', ...valueOf(answer) }
}

function subjectOf({ topic = '', partition, groupId }: AnyAdminResult): string {
  return groupId ?? (partition === undefined ? topic : partitionName({ topic, partition }))
}
