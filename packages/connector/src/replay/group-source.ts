/**
 * Reads the dead letters after the committed position of the replay group, `{groupId}-dlt-replay`. Every replay joins
 * that group: each partition belongs to one instance, and the next replay starts where the last one committed.
 *
 *     JOINING ──assigned──▶ READING ──read up to the end offsets of the start, or idle for too long──▶ left the group
 *
 * | event | consequence |
 * |---|---|
 * | crash between a write and its commit | the next replay repeats at most one batch |
 * | partition revoked | the revocation waits until the current batch is committed |
 * | commit refused | retried while the partition is owned; otherwise its new owner repeats the batch |
 * | a replayed record fails again | its new dead letter lies after the end offset read at the start: not read |
 */

import { type Runtime, StateError } from '@waybill/core'
import { CommitError, type Consumer, type KafkaClient, type KafkaRecord, type TopicPartition } from '@waybill/kafka'
import { type OffsetCommit, partitionName } from '@waybill/kafka/internal'
import type { PartitionLog } from './dead-letter-log.ts'
import type { DeadLetterSource } from './dead-letter-source.ts'

/** The dependencies of a group source. */
export interface GroupSourceDeps {
  readonly client: Pick<KafkaClient, 'consumer' | 'admin'>
  readonly runtime: Runtime
  readonly groupId: string
  readonly topic: string
  /** The offsets at the start of the replay. */
  readonly log: readonly PartitionLog[]
  readonly signal: AbortSignal
}

/** Short, because a replay waits for the session timeout of members that crashed. */
const session = { sessionTimeoutMs: 10_000, heartbeatIntervalMs: 3_000 }
/** Longer than a session timeout, and than the brokers' initial rebalance delay. */
const maxIdleMs = 20_000
const pollMs = 250
const maxCommitAttempts = 5
const commitRetryMs = 200

/** Reads dead letters as a member of the replay group. */
export class GroupSource implements DeadLetterSource {
  readonly #deps: GroupSourceDeps
  readonly #consumer: Consumer
  /** The offset of the next undecided record, by partition name. */
  readonly #positions: Map<string, bigint>
  readonly #held = new Set<string>()
  /** Resolves when the batch returned last is decided and committed. */
  #batch: PromiseWithResolvers<void> | undefined

  private constructor(deps: GroupSourceDeps) {
    this.#deps = deps
    this.#positions = new Map(deps.log.map((one) => [partitionName(one), one.position]))
    this.#consumer = deps.client.consumer({
      groupId: deps.groupId,
      topics: [deps.topic],
      ...session,
      startFrom: 'EARLIEST',
      onRevoking: () => this.#batch?.promise ?? Promise.resolve(),
    })
  }

  /** Joins the group. */
  static async open(deps: GroupSourceDeps): Promise<GroupSource> {
    const source = new GroupSource(deps)
    try {
      await source.#consumer.start()
    } catch (error) {
      await source[Symbol.asyncDispose]()
      throw error
    }
    return source
  }

  async next(maxRecords: number): Promise<readonly KafkaRecord[] | undefined> {
    this.#endBatch()
    const { runtime, signal } = this.#deps
    for (let idleSince = runtime.clock.monotonic(); ; ) {
      if (signal.aborted || this.#unread().length === 0) return undefined
      const before = this.#progress()
      const records = (await this.#consumer.poll(maxRecords, pollMs)).filter((record) => this.#isWanted(record))
      if (records.length > 0) {
        this.#batch = Promise.withResolvers()
        return records
      }
      this.#passGaps()
      if (this.#progress() !== before) idleSince = runtime.clock.monotonic()
      else if (runtime.clock.monotonic() - idleSince >= maxIdleMs) return undefined
      else await this.#refreshOthers()
    }
  }

  async settle(offsets: readonly OffsetCommit[]): Promise<void> {
    const { runtime } = this.#deps
    let left = offsets
    for (let tries = 1; left.length > 0; tries++) {
      try {
        await this.#consumer.commit(left)
        left = []
      } catch (error) {
        if (!(error instanceof CommitError) || tries === maxCommitAttempts) throw error
        left = this.#stillOwned(error)
        if (left.length > 0) await runtime.timers.sleep(commitRetryMs * tries)
      }
    }
    for (const one of offsets) this.#positions.set(partitionName(one), one.offset)
  }

  hold(partition: TopicPartition): void {
    this.#held.add(partitionName(partition))
    this.#consumer.pause([partition])
  }

  remaining(): bigint {
    return this.#deps.log.reduce((sum, { end, ...partition }) => {
      const position = this.#positions.get(partitionName(partition)) ?? end
      return sum + (position < end ? end - position : 0n)
    }, 0n)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#endBatch()
    await this.#consumer.stop({ leave: true })
  }

  #endBatch(): void {
    this.#batch?.resolve()
    this.#batch = undefined
  }

  #isWanted(record: KafkaRecord): boolean {
    const name = partitionName(record)
    const log = this.#deps.log.find(({ partition }) => partition === record.partition)
    return log !== undefined && record.offset < log.end && !this.#held.has(name)
  }

  /** Returns the partitions with undecided records that are not held. */
  #unread(): readonly PartitionLog[] {
    return this.#deps.log.filter((one) => {
      const name = partitionName(one)
      return !this.#held.has(name) && (this.#positions.get(name) ?? one.end) < one.end
    })
  }

  /** Advances over offsets that hold no record: control records and deleted ones. */
  #passGaps(): void {
    for (const one of this.#unread()) {
      const position = this.#consumer.position(one)
      if (position !== undefined && position >= one.end) this.#positions.set(partitionName(one), one.end)
    }
  }

  /** Reads the committed positions of partitions that other members own. */
  async #refreshOthers(): Promise<void> {
    const { client, groupId } = this.#deps
    const others = this.#unread().filter((one) => this.#consumer.position(one) === undefined)
    if (others.length === 0) return
    for (const one of await client.admin.groupOffsets(groupId, others))
      if (one.outcome === 'DONE' && one.committed !== null) this.#positions.set(partitionName(one), one.committed)
  }

  #progress(): string {
    return [...this.#positions.values()].join()
  }

  #stillOwned({ outcomes }: CommitError): OffsetCommit[] {
    const owned = new Map(this.#consumer.assignment().map((one) => [partitionName(one), one.epoch]))
    const refused = outcomes.filter(({ kind }) => kind !== 'COMMITTED').map(({ offset }) => offset)
    const kept = refused.filter((offset) => owned.get(partitionName(offset)) === offset.epoch)
    if (kept.length === 0 && refused.length > 0)
      throw new StateError('Replay stopped: its partitions were reassigned before their position was committed.', {
        hint: 'The new owner repeats the last batch.',
      })
    return kept
  }
}
