import { Queue } from '@waybill/kafka/internal'
import type { ResolvedBinding } from '../../binding/resolved-binding.ts'
import type { Work } from '../../delivery/work.ts'
import type { KeyChains } from './key-chains.ts'
import { laneOf } from './original.ts'
import type { WaitingLog } from './waiting-log.ts'

/** Records of the source that are in no lane yet: too far ahead of the commit, or too many records wait. */
export class SourceQueue {
  readonly #works = new Queue<Work>()

  get size(): number {
    return this.#works.size
  }

  push(work: Work): void {
    this.#works.push(work)
  }

  /** Moves the records below an offset into their lanes, in the order of the source. */
  moveTo(chains: KeyChains, limit: bigint): void {
    for (let next = this.#works.peek(); next !== undefined && next.offset < limit; next = this.#works.peek()) {
      this.#works.shift()
      chains.push(laneOf(next.record), next)
    }
  }

  /** Returns true when the first record is not below an offset. */
  isAt(limit: bigint): boolean {
    const next = this.#works.peek()
    return next !== undefined && next.offset >= limit
  }

  clear(): void {
    this.#works.clear()
  }
}

/** Returns true while no further record of the source may enter a lane, where it might have to wait. */
export function isWaitingFull(
  { size, bytes, isTooLong, isMovingDoubt }: Pick<WaitingLog, 'size' | 'bytes' | 'isTooLong' | 'isMovingDoubt'>,
  { maxWaitingRecords, maxWaitingBytes }: Pick<ResolvedBinding, 'maxWaitingRecords' | 'maxWaitingBytes'>,
): boolean {
  return size >= maxWaitingRecords || bytes >= maxWaitingBytes || isTooLong || isMovingDoubt
}
