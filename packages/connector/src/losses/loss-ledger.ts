/**
 * What was lost or cannot be accounted for, until somebody has read it. Retention, a re-created topic or a group that was
 * reset makes records vanish without any error: only the jump of a position shows it (C-72, D22).
 */

import { UnreachableError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'
import type { PositionLoss } from '@waybill/kafka/internal'
import type { RecordLoss } from '../api/connector-report.ts'

const most = 1_000

/** The losses of a connector that nobody has acknowledged. Of one partition each kind and text is kept once. */
export class LossLedger {
  readonly #losses = new Map<string, RecordLoss>()
  #forgotten = 0

  /** Answers false when it was known. Beyond 1,000 losses the oldest are forgotten one by one, which stays visible. */
  add(loss: RecordLoss): boolean {
    const key = keyOf(loss)
    if (this.#losses.has(key)) return false
    this.#losses.set(key, loss)
    const [oldest] = this.#losses.keys()
    if (this.#losses.size > most && oldest !== undefined) {
      this.#losses.delete(oldest)
      this.#forgotten++
    }
    return true
  }

  /** Takes away what an operator has read: of a binding, and of one partition where it is named. */
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

  /** Losses that made room for newer ones. */
  get forgotten(): number {
    return this.#forgotten
  }
}

function keyOf({ binding, topic, partition, kind, what }: RecordLoss): string {
  return JSON.stringify([binding, topic, partition, kind, what])
}

/** What a lost position means, as a sentence, and how many records it concerns where that can be counted. */
export function describePositionLoss(loss: PositionLoss): Pick<RecordLoss, 'what' | 'records'> {
  const { cause, expected, continuesAt } = loss
  const goesOn =
    continuesAt === null ? 'startFrom is ERROR, so the partition stands still' : `reading goes on at ${continuesAt}`
  switch (cause) {
    case 'NO_OFFSET':
      return { what: `the group has committed no offset; ${goesOn}.`, records: undefined }
    case 'TOPIC_REPLACED':
      return {
        what: `the topic was deleted and created again: what was due at offset ${expected} is gone; ${goesOn}.`,
        records: undefined,
      }
    case 'OUT_OF_RANGE':
      return outOfRange(expected, continuesAt, goesOn)
    default:
      throw new UnreachableError(cause)
  }
}

function outOfRange(
  expected: bigint | null,
  continuesAt: bigint | null,
  goesOn: string,
): Pick<RecordLoss, 'what' | 'records'> {
  if (expected === null || continuesAt === null || continuesAt <= expected)
    return { what: `the log does not have offset ${expected}, which was due; ${goesOn}.`, records: undefined }
  return {
    what: `the records from offset ${expected} on were deleted before they were read; ${goesOn}.`,
    records: continuesAt - expected,
  }
}
