/** Fills an index by reading the ranges of a topic that it does not have yet, outside of every group. */

import type { DeadLetterIndex, LogRange } from '@waybill/core/internal'
import type { KafkaClient } from '@waybill/kafka'
import { lettersOf, maxIndexed, nextOffsets, ReaderPositions } from './index-batch.ts'
import type { IndexingRule } from './indexed-letter.ts'
import type { LetterTopic } from './letter-topics.ts'

/** The dependencies of a read. */
export interface RangeReadDeps {
  readonly index: DeadLetterIndex
  readonly client: Pick<KafkaClient, 'reader'>
  readonly rule: IndexingRule
  readonly ruleVersion: string
  /** Reads the topic with the offsets that it holds now. */
  readonly refresh: () => Promise<LetterTopic>
  readonly signal: AbortSignal
}

/** Reads a topic from the positions of the index to the ends of its ranges. */
export async function readIntoIndex(topic: LetterTopic, deps: RangeReadDeps): Promise<void> {
  const { index, client, rule, ruleVersion, refresh, signal } = deps
  const positions = new ReaderPositions(topic, ruleVersion)
  await positions.read(index, refresh)
  const unread = topic.ranges.flatMap((range): LogRange[] => {
    const from = positions.nextOf(range.partition) ?? range.from
    return from < range.until ? [{ ...range, from }] : []
  })
  if (unread.length > 0) {
    await using reader = client.reader(unread)
    for (let records = await reader.next(maxIndexed); records !== undefined; records = await reader.next(maxIndexed)) {
      const moves = positions.movesTo(nextOffsets(records))
      // Another reader is faster.
      if (signal.aborted || !(await index.put(lettersOf(records, topic, rule), moves))) return
      positions.moved(moves)
    }
  }
  // Offsets at the end may hold no record.
  await index.put([], positions.movesTo(new Map(topic.ranges.map(({ partition, until }) => [partition, until]))))
}

/** Deletes what the log does not hold any more. */
export async function forgetDeleted(index: DeadLetterIndex, { cluster, topic, ranges }: LetterTopic): Promise<void> {
  for (const { partition, from } of ranges) if (from > 0n) await index.forget({ cluster, topic, partition }, from)
}
