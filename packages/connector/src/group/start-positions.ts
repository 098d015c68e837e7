import { StateError } from '@waybill/core'
import { type Admin, type Consumer, requireAllDone, type TopicPartition } from '@waybill/kafka'
import { partitionName } from '@waybill/kafka/internal'
import type { StartOffsets } from '../api/binding.ts'

/** The positions that are stored with the effects of the handler, from the opening of partitions to their assignment. */
export class StartPositions {
  readonly #stored: StartOffsets
  readonly #admin: Pick<Admin, 'listOffsets'>
  readonly #found = new Map<number, bigint>()

  constructor(stored: StartOffsets, admin: Pick<Admin, 'listOffsets'>) {
    this.#stored = stored
    this.#admin = admin
  }

  /**
   * Finds the positions of partitions of one topic. The partitions wait while it rejects, and it is retried.
   *
   * @throws any error of the option, and a StateError for a position above the end of the log
   */
  async find(partitions: readonly TopicPartition[]): Promise<void> {
    const stored = await this.#stored(partitions)
    const offsets = new Map(stored.map(({ partition, offset }) => [partition, offset]))
    const read = stored.filter(({ offset }) => offset > 0n)
    if (read.length > 0) await this.#refuseAboveEnd(read)
    // Nothing is stored, and the log may begin at a higher offset, which is no loss then.
    const unread = partitions.filter(({ partition }) => offsets.get(partition) === 0n)
    if (unread.length > 0)
      for (const { partition, offset } of requireAllDone(
        'Finding the first offsets',
        await this.#admin.listOffsets(unread, 'EARLIEST'),
      ))
        offsets.set(partition, offset ?? 0n)
    for (const { partition } of partitions) {
      const offset = offsets.get(partition)
      if (offset === undefined) this.#found.delete(partition)
      else this.#found.set(partition, offset)
    }
  }

  /** A handler takes records below its stored position for repeats: those of a new log would be skipped in silence. */
  async #refuseAboveEnd(stored: readonly (TopicPartition & { readonly offset: bigint })[]): Promise<void> {
    const ends = requireAllDone('Finding the end offsets', await this.#admin.listOffsets(stored, 'LATEST'))
    for (const { offset, ...at } of stored) {
      const end = ends.find((one) => partitionName(one) === partitionName(at))?.offset ?? 0n
      if (offset <= end) continue
      throw new StateError(
        `The stored position ${offset} of ${partitionName(at)} is above the end of its log, ${end}: ` +
          'the topic was created again, or its log was cut',
        {
          impact: 'Nothing is read from the partition: records below the position would be skipped as repeats.',
          hint: 'Restore the log, or remove the stored position; rebuild what was computed from the former log.',
        },
      )
    }
  }

  /**
   * Moves the consumer back to the stored position. Returns the former position; undefined if it is not above the stored one.
   *
   * Never forward: a record before the stored position may still wait for the confirmation of its dead letter.
   */
  apply(consumer: Pick<Consumer, 'position' | 'seek'>, at: TopicPartition): bigint | undefined {
    const [stored, position] = [this.#found.get(at.partition), consumer.position(at)]
    this.#found.delete(at.partition)
    if (stored === undefined || position === undefined || stored >= position) return undefined
    consumer.seek(at, stored)
    return position
  }
}
