import type {
  DeadLetterFilter,
  DeadLetterIndex,
  DeadLetterRef,
  IndexedDeadLetter,
  IndexMove,
} from '@waybill/core/internal'
import type { Suite } from '../suite/suite.ts'
import type { DeadLetterIndexUnderTest } from './dead-letter-index-harness.ts'

/** Collects the tests of a part of this suite. */
export type DeadLetterIndexSuite = Suite<DeadLetterIndexScene, never>

/** The beginning of an hour. */
export const hour = 3_600_000
export const noon: number = 490_000 * hour

/** Offsets above 2^53 show an index that rounds them. */
export const largeOffset = 9_007_199_254_740_993n

/** Returns a dead letter; `no` tells it from others. */
export function letter(no: number, given: Partial<IndexedDeadLetter> = {}): IndexedDeadLetter {
  return {
    cluster: 'default',
    topic: 'orders.DLT',
    partition: 0,
    offset: largeOffset + BigInt(no),
    binding: 'shipping',
    consumerGroup: 'shipping',
    originalTopic: 'orders',
    originalPartition: 1,
    originalOffset: BigInt(1_000 + no),
    originalAtMs: noon - 1_000,
    deadAtMs: noon + no,
    reason: 'RETRIES_EXHAUSTED',
    exception: 'HttpError',
    message: '502 from shipping-api',
    frame: 'src/shipping.ts',
    group: 'a1',
    eventType: 'order.placed',
    eventId: `e-${no}`,
    key: `o-${no}`,
    attempts: 3,
    replayCount: 0,
    traceId: '4bf9'.repeat(8),
    bytes: 412,
    state: 'OPEN',
    operation: undefined,
    ...given,
  }
}

export const everything = { limit: 500 }

/** Two processes on an index. */
export class DeadLetterIndexScene implements AsyncDisposable {
  readonly index: DeadLetterIndex
  readonly other: DeadLetterIndex
  readonly clock: DeadLetterIndexUnderTest['runtime']['clock']

  constructor({ indexes, runtime }: DeadLetterIndexUnderTest) {
    ;[this.index, this.other] = indexes
    this.clock = runtime.clock
  }

  /** Adds dead letters without moving a position. */
  async add(...letters: readonly IndexedDeadLetter[]): Promise<void> {
    await this.index.put(letters, [])
  }

  /** Returns the numbers of the selected dead letters, newest first. */
  async select(filter: DeadLetterFilter): Promise<readonly number[]> {
    const { items } = await this.other.query(filter, everything)
    return items.map(({ offset }) => Number(offset - largeOffset))
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Returns the move of the position of a partition. */
export function moved(after: bigint | undefined, next: bigint, given: Partial<IndexMove> = {}): IndexMove {
  return { cluster: 'default', topic: 'orders.DLT', partition: 0, rule: '1', after, next, ...given }
}

/** Returns the position of a dead letter. */
export function refOf({ cluster, topic, partition, offset }: DeadLetterRef): DeadLetterRef {
  return { cluster, topic, partition, offset }
}
