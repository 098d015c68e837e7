/**
 * Commits offsets, and says truthfully what became of them.
 *
 * Kafka fences commits by generation, not by ownership: it takes a commit for a partition that its sender has just lost,
 * if the generation is right. So each partition's assignment is checked here, in the same turn in which the request is
 * written. And a commit belongs to the generation it was made in: one that was refused is never sent again under
 * another, because by then somebody else may have committed a higher offset.
 *
 *     call ──▶ waits ──▶ one request for all that wait ──▶ acknowledged, refused: settled
 *                ▲                                   └──▶ coordinator moves: waits on, until its deadline
 *                └───────────────────────────────────────────┘
 *
 * One request is under way at a time. So no commit overtakes an earlier one that has to be repeated, and many partitions
 * that commit for themselves share round trips.
 */

import type { Runtime } from '@waybill/core'
import { errorCode, errorName } from '../../wire/api/error-codes.ts'
import type { OffsetCommitRequest, PartitionErrorsResponse } from '../../wire/api/kafka-apis.ts'
import { offsetsByTopic } from '../cluster/by-topic.ts'
import { KafkaError, type KafkaErrorKind, kindOf, toKafkaError } from '../cluster/kafka-error.ts'
import type { OffsetCommit } from '../cluster/offset-commit.ts'
import { partitionName } from '../cluster/partition-name.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { CoordinatorLink } from '../group/coordinator-link.ts'
import type { Membership } from '../group/membership.ts'
import { CommitError, type CommitOutcome } from './commit-error.ts'

/** What a committer asks its consumer at the moment of sending. */
export interface CommitGuard {
  readonly membership: Membership
  readonly instanceId: string | null
  /** Why this offset must not be committed now; undefined when it may. */
  objection(offset: OffsetCommit): string | undefined
}

type Deps = Pick<Runtime, 'clock' | 'timers' | 'random'>

/** Thrown where a request is made when there is nothing left to put into it. */
const nothingToSend = new KafkaError('Nothing is left to commit.', 'FATAL')

/** Commits of one consumer. */
export class Committer {
  readonly #link: CoordinatorLink
  readonly #runtime: Deps
  readonly #guard: CommitGuard
  readonly #timeoutMs: number
  /** In the order in which they came. */
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

  /** Never rejects: whatever happens in a round becomes the outcome of its offsets. */
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

  /** False when the coordinator took nothing, and what was sent waits on. */
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

  /** Made in the turn in which it is written. @throws nothingToSend */
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
      topics: offsetsByTopic(latest.values()),
    }
  }

  /** Settles what must not be sent: its generation or its assignment is over. */
  #object(): void {
    const { membership } = this.#guard
    for (const call of this.#calls) {
      if (call.membership !== membership || membership.generationId < 0) {
        call.settleAll('REBALANCING', 'it was made in a generation that is over')
        continue
      }
      for (const [name, offset] of call.pending) {
        const objection = this.#guard.objection(offset)
        if (objection !== undefined) call.settle(name, 'REBALANCING', objection)
      }
    }
  }

  /** False when the coordinator is elsewhere, and the partitions it said that of wait on. */
  #absorb(calls: readonly CommitCall[], { topics }: PartitionErrorsResponse): boolean {
    const codes = new Map<string, number>()
    for (const { name: topic, partitions } of topics)
      for (const { partitionIndex: partition, errorCode: code } of partitions)
        codes.set(partitionName({ topic, partition }), code)
    let hasMoved = false
    for (const call of calls) {
      for (const name of call.pending.keys()) {
        // An answer that leaves a partition out has not acknowledged it.
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

  /** Lets go of calls that have ended, or have to. */
  #retire(): void {
    const nowMs = this.#runtime.clock.monotonic()
    this.#calls = this.#calls.filter((call) => !call.endIfDue(nowMs))
  }
}

/** One call of `commit`, until every offset of it has an outcome. */
class CommitCall {
  readonly membership: Membership
  readonly endAt: number
  /** Offsets without an outcome, by partition; of two for one partition the last counts. */
  readonly pending: ReadonlyMap<string, OffsetCommit>
  readonly result: Promise<void>
  readonly #pending: Map<string, OffsetCommit>
  readonly #outcomes: CommitOutcome[] = []
  /** The coordinator may have written these down although it said otherwise. */
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

  /** It is to be sent again. A coordinator that is "not available" may have been so only after it wrote. */
  holdBack(name: string, code: number): void {
    if (code === errorCode.COORDINATOR_NOT_AVAILABLE) this.#doubtful.add(name)
  }

  /** True when it is over: every offset has its outcome, or the time is up. */
  endIfDue(nowMs: number): boolean {
    if (nowMs >= this.endAt) {
      for (const name of this.#pending.keys()) {
        this.settle(name, this.#doubtful.has(name) ? 'UNKNOWN' : 'RETRIABLE', 'the coordinator took it not in time')
      }
    }
    if (this.#pending.size > 0) return false
    const isDone = this.#outcomes.every(({ kind }) => kind === 'COMMITTED')
    if (isDone) this.#settled.resolve()
    else this.#settled.reject(new CommitError(this.#outcomes))
    return true
  }
}
