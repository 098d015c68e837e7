import { KafkaError, type KafkaErrorKind } from '../cluster/kafka-error.ts'
import type { OffsetCommit } from '../cluster/offset-commit.ts'
import { partitionName } from '../cluster/partition-name.ts'

/** What became of one offset. */
export interface CommitOutcome {
  readonly offset: OffsetCommit
  /** COMMITTED: acknowledged. Else what its error means. */
  readonly kind: 'COMMITTED' | KafkaErrorKind
  /** Kafka's name for the refusal, or why it was not sent; undefined when it was committed. */
  readonly reason: string | undefined
}

/** What is worst for the caller comes first: the error as a whole has the kind of its gravest outcome. */
const gravest: readonly KafkaErrorKind[] = ['FENCED', 'FATAL', 'UNKNOWN', 'REBALANCING', 'ABORTABLE', 'RETRIABLE']

/** Some offsets of a commit were not acknowledged. `outcomes` says what became of each, also of those that were. */
export class CommitError extends KafkaError {
  static override readonly code: string = 'WAYBILL_KAFKA_COMMIT'
  readonly outcomes: readonly CommitOutcome[]

  constructor(outcomes: readonly CommitOutcome[]) {
    const failed = outcomes.filter(({ kind }) => kind !== 'COMMITTED')
    const kind = gravest.find((candidate) => failed.some((outcome) => outcome.kind === candidate)) ?? 'FATAL'
    const reason = failed.find((outcome) => outcome.kind === kind)?.reason
    const done = outcomes.length - failed.length
    const list = failed.map(({ offset, reason: why }) => `${partitionName(offset)}: ${why}`).join('; ')
    super(`Not committed: ${list}.${done === 0 ? '' : ` ${done} others were.`}`, kind, {
      ...(reason === undefined ? {} : { reason }),
      impact: 'Nothing is lost: the records are delivered again from the offset that was committed last.',
    })
    this.outcomes = Object.freeze([...outcomes])
  }
}
