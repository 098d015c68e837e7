/**
 * Dead letters behind the committed position of the replay group, `{groupId}-dlt-replay`. Whoever replays joins that
 * group: of many instances each partition belongs to one, and the position is where the last one ended (C-19, C-79).
 *
 *     JOINING ──assigned──▶ READING ──all read up to the ends of the beginning, or nothing more comes──▶ left the group
 *
 * | what happens | what follows |
 * |---|---|
 * | a crash between a write and its commit | the next one repeats what was written since: one batch at most |
 * | a partition is given to another member | it is held until the batch under way is committed |
 * | a commit is refused | sent again while the partition is owned; else its new owner repeats the batch |
 * | a replayed record dies again | it lies behind the end that was asked for first: no replay chases its own tail |
 */

import { type Runtime, StateError } from '@waybill/core'
import { CommitError, type Consumer, type KafkaClient, type KafkaRecord, type TopicPartition } from '@waybill/kafka'
import { type OffsetCommit, partitionName } from '@waybill/kafka/internal'
import type { LogStretch } from './dead-letter-log.ts'
import type { DeadLetterSource } from './dead-letter-source.ts'

/** What a source stands on. */
export interface GroupSourceDeps {
  readonly client: Pick<KafkaClient, 'consumer' | 'admin'>
  readonly runtime: Runtime
  readonly groupId: string
  readonly topic: string
  /** As it was when the replay began. */
  readonly log: readonly LogStretch[]
  readonly signal: AbortSignal
}

/** A replay is short, and what a dead one owned is waited for. */
const session = { sessionTimeoutMs: 10_000, heartbeatIntervalMs: 3_000 }
/** Longer than a session, and than brokers wait for the first members of a group. */
const patienceMs = 20_000
const pollMs = 250
const mostCommits = 5
const commitWaitMs = 200

/** See the file's comment. */
export class GroupSource implements DeadLetterSource {
  readonly #deps: GroupSourceDeps
  readonly #consumer: Consumer
  /** Where each partition's next undecided record lies, by its name. */
  readonly #positions: Map<string, bigint>
  readonly #held = new Set<string>()
  /** Resolves when what was handed out is decided and committed. */
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
      else if (runtime.clock.monotonic() - idleSince >= patienceMs) return undefined
      else await this.#lookAtOthers()
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
        if (!(error instanceof CommitError) || tries === mostCommits) throw error
        left = this.#stillOwned(error)
        if (left.length > 0) await runtime.timers.sleep(commitWaitMs * tries)
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
    const stretch = this.#deps.log.find(({ partition }) => partition === record.partition)
    return stretch !== undefined && record.offset < stretch.end && !this.#held.has(name)
  }

  /** Partitions that have something which nobody has decided, and that nobody said to leave. */
  #unread(): readonly LogStretch[] {
    return this.#deps.log.filter((one) => {
      const name = partitionName(one)
      return !this.#held.has(name) && (this.#positions.get(name) ?? one.end) < one.end
    })
  }

  /** Where transactions ended or records were deleted there is nothing to decide. */
  #passGaps(): void {
    for (const one of this.#unread()) {
      const position = this.#consumer.position(one)
      if (position !== undefined && position >= one.end) this.#positions.set(partitionName(one), one.end)
    }
  }

  /** What another member owns moves without us. */
  async #lookAtOthers(): Promise<void> {
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
      throw new StateError('The partitions were given to another member before their position could be committed.', {
        hint: 'That member repeats the last batch.',
      })
    return kept
  }
}
