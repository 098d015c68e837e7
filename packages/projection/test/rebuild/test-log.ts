import { BatchProcessingError } from '@waybill/connector'
import { type Clock, createMemoryLogger, type Runtime, runtimeWith } from '@waybill/core'
import { systemClock, systemTimers } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { Projector } from '../../src/projector/create-projector.ts'
import type { RebuildSource, SourcePartition } from '../../src/rebuild/rebuild-source.ts'

/** A log in memory: the source of a rebuild, and of a live projector. */
export class TestLog implements RebuildSource {
  readonly partitionsOfTopic: KafkaRecord[][]
  /** The first offset of each partition, after retention. */
  starts: bigint[]
  readonly #committed: number[]

  constructor(partitions: number) {
    this.partitionsOfTopic = Array.from({ length: partitions }, () => [])
    this.starts = this.partitionsOfTopic.map(() => 0n)
    this.#committed = this.partitionsOfTopic.map(() => 0)
  }

  addPartition(): void {
    this.partitionsOfTopic.push([])
    this.starts.push(0n)
    this.#committed.push(0)
  }

  append(partition: number, record: KafkaRecord): void {
    const log = this.partitionsOfTopic[partition] as KafkaRecord[]
    log.push({ ...record, partition, offset: BigInt(log.length) })
  }

  /** Delivers up to so many records of each partition to the projector, as a connector does. */
  async deliver(projector: Projector, most = 5): Promise<number> {
    let delivered = 0
    for (const [partition, log] of this.partitionsOfTopic.entries()) {
      const from = this.#committed[partition] ?? 0
      let left: readonly KafkaRecord[] = log.slice(from, from + most)
      delivered += left.length
      this.#committed[partition] = from + left.length
      while (left.length > 0) {
        try {
          await projector.handleBatch(left, undefined as never)
          left = []
        } catch (error) {
          if (!(error instanceof BatchProcessingError)) throw error
          left = left.slice(error.failedIndex + 1)
        }
      }
    }
    return delivered
  }

  /** Delivers the last records of each partition again; those that were never delivered wait for their turn. */
  async repeatAll(projector: Projector, most: number): Promise<void> {
    for (const [partition, log] of this.partitionsOfTopic.entries()) {
      const end = this.#committed[partition] ?? 0
      const records = log.slice(Math.max(0, end - most), end + 10)
      if (records.length > 0) await projector.handleBatch(records, undefined as never)
    }
  }

  async partitions(): Promise<readonly SourcePartition[]> {
    return this.partitionsOfTopic.map((log, partition) => ({
      topic: 'accounts',
      partition,
      start: this.starts[partition] ?? 0n,
      end: BigInt(log.length),
    }))
  }

  async incomplete(): Promise<string | undefined> {
    return this.starts.some((start) => start > 0n) ? 'the first events are gone' : undefined
  }

  open({ topic, partition }: Pick<SourcePartition, 'topic' | 'partition'>, from: bigint, until: bigint) {
    if (topic !== 'accounts') throw new RangeError(`There is no topic ${topic}`)
    let at = Number(from)
    return {
      next: async (most: number) => {
        const records = this.partitionsOfTopic[partition]?.slice(at, Math.min(Number(until), at + most)) ?? []
        at += records.length
        return records.length === 0 ? undefined : records
      },
      [Symbol.asyncDispose]: async () => {},
    }
  }
}

/** A clock that runs a hundred times faster, for leases. */
export const hastyClock: Clock = { now: () => systemClock.now() * 100, monotonic: () => systemClock.monotonic() * 100 }

/** Returns a runtime whose waits are a hundred times shorter. */
export function hastyRuntime(failpoint?: Runtime['failpoint']): Runtime {
  return runtimeWith({
    logger: createMemoryLogger(),
    timers: { ...systemTimers, sleep: (ms, signal) => systemTimers.sleep(ms / 100, signal) },
    ...(failpoint === undefined ? {} : { failpoint }),
  })
}
