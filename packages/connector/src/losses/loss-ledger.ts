/**
 * Records that were lost or cannot be accounted for, until an operator acknowledges them. Retention, a re-created topic
 * and a reset group make records vanish without an error: only the jump of a position shows it.
 */

import { UnreachableError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'
import type { PositionLoss } from '@waybill/kafka/internal'
import type { RecordLoss } from '../api/connector-report.ts'

const maxLosses = 1_000

/** The unacknowledged losses of a connector. A partition has each kind and text once. */
export class LossLedger {
  readonly #losses = new Map<string, RecordLoss>()
  #forgotten = 0

  /**
   * Returns false when the loss is already known. Above 1,000 losses the oldest is dropped and {@link forgotten} grows.
   */
  add(loss: RecordLoss): boolean {
    const key = keyOf(loss)
    if (this.#losses.has(key)) return false
    this.#losses.set(key, loss)
    const [oldest] = this.#losses.keys()
    if (this.#losses.size > maxLosses && oldest !== undefined) {
      this.#losses.delete(oldest)
      this.#forgotten++
    }
    return true
  }

  /** Removes and returns the losses of a binding, or of one of its partitions. */
  acknowledge(binding: string, partition?: TopicPartition): readonly RecordLoss[] {
    const read = this.of(binding).filter(
      (loss) => partition === undefined || (loss.topic === partition.topic && loss.partition === partition.partition),
    )
    for (const loss of read) this.#losses.delete(keyOf(loss))
    if (this.#losses.size === 0) this.#forgotten = 0
    return read
  }

  of(binding: string): readonly RecordLoss[] {
    return this.list().filter((loss) => loss.binding === binding)
  }

  list(): readonly RecordLoss[] {
    return [...this.#losses.values()]
  }

  /** The number of losses dropped to make room for newer ones. */
  get forgotten(): number {
    return this.#forgotten
  }
}

function keyOf({ binding, topic, partition, kind, what }: RecordLoss): string {
  return JSON.stringify([binding, topic, partition, kind, what])
}

/** Describes a lost position, and counts the lost records where that is possible. */
export function describePositionLoss(loss: PositionLoss): Pick<RecordLoss, 'what' | 'records'> {
  const { cause, expected, continuesAt } = loss
  const next =
    continuesAt === null ? 'startFrom is ERROR, so the partition is blocked' : `reading continues at ${continuesAt}`
  switch (cause) {
    case 'NO_OFFSET':
      return { what: `the group has no committed offset; ${next}.`, records: undefined }
    case 'TOPIC_REPLACED':
      return {
        what: `the topic was deleted and re-created: its records from offset ${expected} on are gone; ${next}.`,
        records: undefined,
      }
    case 'OUT_OF_RANGE':
      return outOfRange(expected, continuesAt, next)
    case 'LOG_CUT':
      return {
        what: `an unclean leader election cut the log: records that were read, up to offset ${expected}, and later ones are gone; new records take their offsets; ${next}.`,
        records: undefined,
      }
    default:
      throw new UnreachableError(cause)
  }
}

function outOfRange(
  expected: bigint | null,
  continuesAt: bigint | null,
  next: string,
): Pick<RecordLoss, 'what' | 'records'> {
  if (expected === null || continuesAt === null || continuesAt <= expected)
    return { what: `the next offset, ${expected}, is not in the log; ${next}.`, records: undefined }
  return {
    what: `the records from offset ${expected} on were deleted before they were read; ${next}.`,
    records: continuesAt - expected,
  }
}
