/**
 * Moves the positions of a transactional binding. A previous owner may have an open transaction that can still commit:
 * a position planned without it would repeat outputs that become visible, or be overwritten by its offset (I13). So the
 * move first acquires the transactional ids of the partitions, and the write itself proves that they were not taken
 * since.
 *
 *     group empty? ─▶ acquire the ids, which ends open transactions ─▶ still empty? ─▶ read, audit, plan
 *          ─▶ each position in a transaction of its partition's id ─▶ all accepted: commit each ─▶ wait until visible
 *
 * A member that joins after the second check acquires the ids before it reads a position, and so fences this move. A
 * member that left before it has no transaction that could still commit.
 *
 * | failure | consequence |
 * |---|---|
 * | the group has members | refused; nothing is written, and the check does not fence a running owner |
 * | a previous owner's transaction cannot be ended | nothing is written |
 * | a partition cannot be planned, or its position is not accepted | nothing is written |
 * | an id was taken meanwhile, or a commit has no answer | another round for the partitions whose outcome is unknown |
 * | the same after several rounds, or another failure in a later one | PositionUnknownError |
 */

import { KafkaError, requireAllDone, type TopicPartition, type TransactionalProducer } from '@waybill/kafka'
import { hasMembers, type PartitionResult } from '@waybill/kafka/internal'
import { errorCode } from '@waybill/kafka/wire'
import type { ContainerPlace } from '../api/container-place.ts'
import type { PositionReport } from '../api/position-command.ts'
import { PositionUnknownError } from '../api/position-errors.ts'
import type { ResolvedTransaction } from '../binding/resolved-binding.ts'
import { encodeMove, type PositionMove } from '../ledger/position-move.ts'
import { endTransactions, takeTransactions } from '../partition/transaction/end-transactions.ts'
import type { AdministeredBinding } from './administered-binding.ts'
import type { IdlePartition } from './plan-position.ts'
import type { RequestedMove } from './resolve-moves.ts'

/** A move of one partition, ready to be written. */
export interface Planned {
  readonly report: PositionReport
  /** The part of the metadata that identifies this move. */
  readonly note: PositionMove
  readonly metadata: string
}

/** Reads and plans positions, with and without transactions. */
export interface Reading {
  readonly read: (asked: readonly RequestedMove[]) => Promise<ReadonlyMap<number, IdlePartition>>
  /** @throws PositionRefusedError */
  readonly plan: (asked: readonly RequestedMove[], idle: ReadonlyMap<number, IdlePartition>) => readonly Planned[]
}

type Producers = ReadonlyMap<number, TransactionalProducer>

interface Given extends Reading {
  readonly binding: AdministeredBinding
  readonly place: ContainerPlace
  readonly transactional: ResolvedTransaction
}

/** After three rounds a concurrent owner of the ids is assumed. */
const maxRounds = 3

/** @throws PositionRefusedError, PositionUnknownError, PartialFailureError, KafkaError */
export async function moveInTransactions(given: Given, asked: readonly RequestedMove[]): Promise<readonly Planned[]> {
  const move = new TransactionalMove(given, asked)
  for (let round = 1; round <= maxRounds; round++) {
    try {
      if (await move.round()) {
        await move.untilVisible()
        return move.done
      }
    } catch (error) {
      throw move.hasWritten ? move.unknown(error) : error
    }
  }
  throw move.unknown(move.trouble)
}

class TransactionalMove {
  readonly #given: Given
  #open: readonly RequestedMove[]
  readonly #done: Planned[] = []
  /** The plans of open partitions whose commit may have happened. */
  readonly #doubted = new Map<number, Planned>()
  /** The reason why the last round left partitions open. */
  trouble: KafkaError | undefined

  constructor(given: Given, asked: readonly RequestedMove[]) {
    this.#given = given
    this.#open = asked
  }

  get done(): readonly Planned[] {
    return this.#done.toSorted((one, other) => one.report.partition - other.report.partition)
  }

  get hasWritten(): boolean {
    return this.#done.length > 0 || this.#doubted.size > 0
  }

  unknown(cause: unknown): PositionUnknownError {
    const partitions = this.#open.map(({ partition }) => this.#at(partition))
    return new PositionUnknownError(this.#given.binding.label, partitions, cause)
  }

  /** Runs one round. Returns true when no partition is open. */
  async round(): Promise<boolean> {
    await this.#requireNoMembers()
    const producers = await this.#take()
    try {
      await this.#requireNoMembers()
      const idle = await this.#given.read(this.#open)
      this.#settleDoubts(idle)
      const plans = this.#given.plan(this.#open, idle)
      this.#keepOpen((partition) => plans.some(({ report }) => report.partition === partition))
      if (await this.#areAccepted(producers, plans)) await this.#commit(producers, plans)
    } finally {
      await closeAll(producers.values())
    }
    return this.#open.length === 0
  }

  /**
   * Waits until the commits are visible: brokers acknowledge a commit before they write its markers, and assign the
   * id's next epoch only after that. Never rejects.
   */
  async untilVisible(): Promise<void> {
    const { binding, place, transactional } = this.#given
    // The commits are decided, even if this wait fails.
    await Promise.allSettled(
      this.#done.map(({ report }) => endTransactions(binding.client, place.groupId, report, transactional)),
    )
  }

  /** Rejects when the group has members: brokers check that for plain commits, and not for transactions. */
  async #requireNoMembers(): Promise<void> {
    const { binding, place } = this.#given
    const { groupId } = place
    const [group] = await binding.client.admin.describeGroups([groupId])
    if (group === undefined) return
    if (group.outcome === 'FAILED') {
      if (group.error.reason === 'GROUP_ID_NOT_FOUND') return
      throw group.error
    }
    const { members, groupState } = group
    if (members === null ? groupState === 'Empty' : members.length === 0) return
    const error = hasMembers(groupId, errorCode.UNKNOWN_MEMBER_ID)
    const outcome = 'FAILED' as const
    this.#requireDone(this.#open.map(({ partition }) => ({ ...this.#at(partition), outcome, error })))
  }

  async #take(): Promise<Producers> {
    const { binding, place, transactional } = this.#given
    const results = await Promise.allSettled(
      this.#open.map(async ({ partition }) => {
        const producer = await takeTransactions(binding.client, place.groupId, this.#at(partition), transactional)
        return [partition, producer] as const
      }),
    )
    const taken = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed === undefined) return new Map(taken)
    await closeAll(taken.map(([, producer]) => producer))
    throw failed.reason
  }

  /**
   * Settles the doubts of the previous round: its transactions have ended, so the committed offsets show their outcome.
   */
  #settleDoubts(idle: ReadonlyMap<number, IdlePartition>): void {
    for (const [partition, planned] of this.#doubted) {
      const ledgers = idle.get(partition)?.ledgers
      const moved = ledgers === undefined || 'problem' in ledgers ? undefined : ledgers.source.moved
      if (moved !== undefined && isSameMove(moved, planned.note)) this.#settle(planned)
    }
    this.#doubted.clear()
  }

  /** Returns true when every position is in an open transaction. Otherwise closing the producers aborts all of them. */
  async #areAccepted(producers: Producers, plans: readonly Planned[]): Promise<boolean> {
    const { groupId } = this.#given.place
    const noMember = { groupId, generationId: -1, memberId: '', instanceId: null }
    const outcomes = await tryEach(plans, ({ report: { topic, partition, to: offset }, metadata }) =>
      producers.get(partition)?.sendOffsets([{ topic, partition, epoch: -1, offset, metadata }], noMember),
    )
    const failures = outcomes.filter((one) => one.outcome === 'FAILED')
    const fenced = failures.find(({ error }) => error.kind === 'FENCED')
    this.trouble = fenced?.error
    if (fenced === undefined) this.#requireDone(failures)
    return fenced === undefined
  }

  async #commit(producers: Producers, plans: readonly Planned[]): Promise<void> {
    const outcomes = await tryEach(plans, ({ report: { partition } }) => producers.get(partition)?.commit())
    for (const [index, one] of outcomes.entries()) {
      const planned = plans[index] as Planned
      if (one.outcome === 'DONE') this.#settle(planned)
      else if (isDoubted(one)) {
        this.#doubted.set(one.partition, planned)
        this.trouble = one.error
      }
    }
    this.#requireDone(outcomes.filter((one) => !isDoubted(one)))
  }

  #settle(planned: Planned): void {
    this.#done.push(planned)
    this.#keepOpen((partition) => partition !== planned.report.partition)
  }

  #keepOpen(isOpen: (partition: number) => boolean): void {
    this.#open = this.#open.filter(({ partition }) => isOpen(partition))
  }

  #requireDone(outcomes: readonly PartitionResult[]): void {
    requireAllDone(`Moving the positions of ${this.#given.place.groupId}`, outcomes)
  }

  #at(partition: number): TopicPartition {
    return { topic: this.#given.place.topic, partition }
  }
}

/** Runs an action for each plan. Rejects only for errors other than KafkaError, which are bugs. */
function tryEach(
  plans: readonly Planned[],
  act: (planned: Planned) => Promise<void> | undefined,
): Promise<readonly PartitionResult[]> {
  return Promise.all(
    plans.map(async (planned): Promise<PartitionResult> => {
      const { topic, partition } = planned.report
      try {
        await act(planned)
        return { topic, partition, outcome: 'DONE' }
      } catch (error) {
        if (!(error instanceof KafkaError)) throw error
        return { topic, partition, outcome: 'FAILED', error }
      }
    }),
  )
}

/** Returns whether a commit may have happened. That includes FENCED: the answer may be lost and the retry fenced. */
function isDoubted(one: PartitionResult): boolean {
  return one.outcome === 'FAILED' && (one.error.kind === 'FENCED' || one.error.kind === 'UNKNOWN')
}

async function closeAll(producers: Iterable<TransactionalProducer>): Promise<void> {
  await Promise.all(Array.from(producers, (producer) => producer.close()))
}

function isSameMove(one: PositionMove, other: PositionMove): boolean {
  return encodeMove(one) === encodeMove(other)
}
