import { KafkaError, type KafkaErrorKind } from '../cluster/kafka-error.ts'
import type { OffsetCommit } from '../cluster/offset-commit.ts'
import { partitionName } from '../cluster/partition-name.ts'

/** The outcome of one offset. */
export interface CommitOutcome {
  readonly offset: OffsetCommit
  /** COMMITTED when acknowledged, otherwise the class of its error. */
  readonly kind: 'COMMITTED' | KafkaErrorKind
  /** Kafka's name of the error, or why it was not sent; undefined when it was committed. */
  readonly reason: string | undefined
}

/** Error kinds by severity. The error as a whole has the kind of its most severe outcome. */
const gravest: readonly KafkaErrorKind[] = ['FENCED', 'FATAL', 'UNKNOWN', 'REBALANCING', 'ABORTABLE', 'RETRIABLE']

/**
 * Reports that some offsets of a commit were not acknowledged. `outcomes` has the outcome of each offset, including the
 * committed ones.
 */
export class CommitError extends KafkaError {
  static override readonly code: string = 'WAYBILL_KAFKA_COMMIT'
  readonly outcomes: readonly CommitOutcome[]

  constructor(outcomes: readonly CommitOutcome[]) {
    const failed = outcomes.filter(({ kind }) => kind !== 'COMMITTED')
    const kind = gravest.find((candidate) => failed.some((outcome) => outcome.kind === candidate)) ?? 'FATAL'
    const reason = failed.find((outcome) => outcome.kind === kind)?.reason
    const done = outcomes.length - failed.length
    const list = failed.map(({ offset, reason: why }) => `${partitionName(offset)}: ${why}`).join('; ')
    super(`Not committed: ${list}.${done === 0 ? '' : ` ${done} other offsets were committed.`}`, kind, {
      ...(reason === undefined ? {} : { reason }),
      impact: 'No record is lost: they are delivered again from the last committed offset.',
    })
    this.outcomes = Object.freeze([...outcomes])
  }
}
