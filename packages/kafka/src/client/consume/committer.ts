/**
 * Commits offsets and reports the outcome of each.
 *
 * Kafka fences commits by generation, not by ownership: it accepts a commit for a partition that its sender has just
 * lost, if the generation matches. So each partition's assignment is checked here, in the same turn in which the
 * request is written. A commit also belongs to the generation it was made in. A refused one is never resent under
 * another generation, because the new owner may have committed a higher offset by then.
 *
 *     call ──▶ waits ──▶ one request for all that wait ──▶ acknowledged, refused: settled
 *                ▲                                   └──▶ coordinator moves: waits on, until its deadline
 *                └───────────────────────────────────────────┘
 *
 * One request is in flight at a time, so that no commit overtakes an earlier one that is retried, and partitions that
 * commit independently share round trips.
 */

import type { Runtime } from '@waybill/core'
import { errorCode, errorName } from '../../wire/api/error-codes.ts'
import type { OffsetCommitRequest, PartitionErrorsResponse } from '../../wire/api/kafka-apis.ts'
import { offsetsByTopic } from '../cluster/by-topic.ts'
import { KafkaError, type KafkaErrorKind, kindOf, toKafkaError } from '../cluster/kafka-error.ts'
import type { OffsetCommit } from '../cluster/offset-commit.ts'
import { partitionName } from '../cluster/partition-name.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { CoordinatorLink } from '../group/coordinator-link.ts'
import type { Membership } from '../group/membership.ts'
import { CommitError, type CommitOutcome } from './commit-error.ts'

/** State of the consumer, read at the moment of sending. */
export interface CommitGuard {
  readonly membership: Membership
  readonly instanceId: string | null
  /** Returns why this offset must not be committed now; undefined when it may. */
  objection(offset: OffsetCommit): string | undefined
  /** Returns the leader epoch of the last record that was fetched; -1 when it is unknown. */
  leaderEpochOf(partition: TopicPartition): number
}

type Deps = Pick<Runtime, 'clock' | 'timers' | 'random'>

/** Thrown while building a request when no offset is left to send. */
const nothingToSend = new KafkaError('No offset is left to commit.', 'FATAL')

/** Sends the commits of one consumer. */
export class Committer {
  readonly #link: CoordinatorLink
  readonly #runtime: Deps
  readonly #guard: CommitGuard
  readonly #timeoutMs: number
  /** Pending calls, oldest first. */
  #calls: CommitCall[] = []
  #isRunning = false

  constructor(link: CoordinatorLink, runtime: Deps, guard: CommitGuard, timeoutMs: number) {
    this.#link = link
    this.#runtime = runtime
    this.#guard = guard
    this.#timeoutMs = timeoutMs
  }

  /** Resolves when the coordinator has acknowledged every offset, else rejects with CommitError. */
  commit(offsets: readonly OffsetCommit[]): Promise<void> {
    if (offsets.length === 0) return Promise.resolve()
    const endAt = this.#runtime.clock.monotonic() + this.#timeoutMs
    const call = new CommitCall(offsets, this.#guard.membership, endAt)
    this.#calls.push(call)
    if (!this.#isRunning) void this.#run()
    return call.result
  }

  /** Runs until no call is pending. Never rejects: every failure becomes the outcome of its offsets. */
  async #run(): Promise<void> {
    this.#isRunning = true
    for (let failures = 0; this.#calls.length > 0; ) {
      this.#object()
      this.#retire()
      const [oldest] = this.#calls
      if (oldest === undefined) break
      const hasAnswer = await this.#sendAll(oldest.endAt - this.#runtime.clock.monotonic())
      this.#retire()
      failures = hasAnswer ? 0 : failures + 1
      if (!hasAnswer && this.#calls.length > 0) {
        await this.#runtime.timers.sleep(retryWaitMs(failures, this.#runtime.random))
      }
    }
    this.#isRunning = false
  }

  /** Sends all pending offsets. Returns false when the coordinator accepted none and they stay pending. */
  async #sendAll(timeoutMs: number): Promise<boolean> {
    let calls: readonly CommitCall[] = []
    try {
      const answer = await this.#link.send(
        'OFFSET',
        'OffsetCommit',
        () => {
          calls = [...this.#calls]
          return this.#request(calls)
        },
        Math.max(1, timeoutMs),
      )
      return this.#absorb(calls, answer)
    } catch (thrown) {
      if (thrown === nothingToSend) return true
      const error = toKafkaError('OffsetCommit', thrown)
      if (error.kind === 'RETRIABLE') return false
      const isSent = calls.length > 0
      for (const call of isSent ? calls : this.#calls) call.settleAll(error.kind, error.message)
      return true
    }
  }

  /** Builds the request in the turn in which it is written. @throws nothingToSend */
  #request(calls: readonly CommitCall[]): OffsetCommitRequest {
    this.#object()
    const latest = new Map<string, OffsetCommit>()
    for (const call of calls) for (const [name, offset] of call.pending) latest.set(name, offset)
    if (latest.size === 0) throw nothingToSend
    const { memberId, generationId } = this.#guard.membership
    return {
      groupId: this.#link.groupId,
      generationId,
      memberId,
      groupInstanceId: this.#guard.instanceId,
      topics: offsetsByTopic(latest.values(), (partition) => this.#guard.leaderEpochOf(partition)),
    }
  }

  /** Settles offsets that must not be sent, because their generation or assignment is over. */
  #object(): void {
    const { membership } = this.#guard
    for (const call of this.#calls) {
      if (call.membership !== membership || membership.generationId < 0) {
        call.settleAll('REBALANCING', 'its generation is over')
        continue
      }
      for (const [name, offset] of call.pending) {
        const objection = this.#guard.objection(offset)
        if (objection !== undefined) call.settle(name, 'REBALANCING', objection)
      }
    }
  }

  /** Settles offsets from the response. Returns false when the coordinator has moved; those offsets stay pending. */
  #absorb(calls: readonly CommitCall[], { topics }: PartitionErrorsResponse): boolean {
    const codes = new Map<string, number>()
    for (const { name: topic, partitions } of topics)
      for (const { partitionIndex: partition, errorCode: code } of partitions)
        codes.set(partitionName({ topic, partition }), code)
    let hasMoved = false
    for (const call of calls) {
      for (const name of call.pending.keys()) {
        // A response without the partition does not acknowledge it.
        const code = codes.get(name) ?? errorCode.UNKNOWN_SERVER_ERROR
        if (code === errorCode.NONE) call.settle(name, 'COMMITTED', undefined)
        else if (!this.#link.hasMoved(code)) call.settle(name, kindOf(code), errorName(code))
        else {
          hasMoved = true
          call.holdBack(name, code)
        }
      }
    }
    return !hasMoved
  }

  /** Drops calls that are settled or past their deadline. */
  #retire(): void {
    const nowMs = this.#runtime.clock.monotonic()
    this.#calls = this.#calls.filter((call) => !call.endIfDue(nowMs))
  }
}

/** One call of `commit`, until each of its offsets has an outcome. */
class CommitCall {
  readonly membership: Membership
  readonly endAt: number
  /** Offsets without an outcome, by partition; the last one per partition counts. */
  readonly pending: ReadonlyMap<string, OffsetCommit>
  readonly result: Promise<void>
  readonly #pending: Map<string, OffsetCommit>
  readonly #outcomes: CommitOutcome[] = []
  /** Partitions whose offset the coordinator may have stored although it reported an error. */
  readonly #doubtful = new Set<string>()
  readonly #settled: PromiseWithResolvers<void> = Promise.withResolvers()

  constructor(offsets: readonly OffsetCommit[], membership: Membership, endAt: number) {
    this.membership = membership
    this.endAt = endAt
    this.#pending = new Map(offsets.map((offset) => [partitionName(offset), offset]))
    this.pending = this.#pending
    this.result = this.#settled.promise
  }

  settle(name: string, kind: CommitOutcome['kind'], reason: string | undefined): void {
    const offset = this.#pending.get(name)
    if (offset === undefined) return
    this.#pending.delete(name)
    this.#outcomes.push({ offset, kind, reason })
  }

  settleAll(kind: KafkaErrorKind, reason: string): void {
    for (const name of this.#pending.keys()) this.settle(name, kind, reason)
  }

  /** Keeps an offset pending. "Not available" may mean that the coordinator failed after storing it. */
  holdBack(name: string, code: number): void {
    if (code === errorCode.COORDINATOR_NOT_AVAILABLE) this.#doubtful.add(name)
  }

  /** Settles the call at its deadline or when every offset has an outcome. Returns true if it is settled. */
  endIfDue(nowMs: number): boolean {
    if (nowMs >= this.endAt) {
      for (const name of this.#pending.keys()) {
        this.settle(
          name,
          this.#doubtful.has(name) ? 'UNKNOWN' : 'RETRIABLE',
          'the coordinator did not accept it in time',
        )
      }
    }
    if (this.#pending.size > 0) return false
    const isDone = this.#outcomes.every(({ kind }) => kind === 'COMMITTED')
    if (isDone) this.#settled.resolve()
    else this.#settled.reject(new CommitError(this.#outcomes))
    return true
  }
}
