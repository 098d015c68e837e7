/**
 * Moves positions of a transactional binding. A former owner may have a transaction under way of which only the end is
 * missing: a position that was planned without it would repeat outputs that become visible, or be replaced by its offset
 * (I13). So the ids of the partitions are taken first, and the write itself proves that nobody has taken them since.
 *
 *     group is empty? ─▶ take the ids: what was under way is ended ─▶ still empty? ─▶ read, audit, plan
 *          ─▶ the positions, each in a transaction of its partition's id ─▶ all accepted: commit each ─▶ wait until they are visible
 *
 * Whoever joins after the second question takes the ids before it reads a position, and so fences this move; whoever left
 * before it has no transaction that could still be committed.
 *
 * | failure | what is done |
 * |---|---|
 * | the group has members | refused; nothing is written, and an owner that runs is not fenced by the first question |
 * | a transaction that an owner has left cannot be ended | nothing is written |
 * | a partition cannot be planned, or its position is not accepted | nothing is written |
 * | somebody has taken an id meanwhile, or a commit has no answer | what is not known to be done begins anew |
 * | the same after several rounds, or another failure in a later one | the caller is told that it is unknown |
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
import type { PartitionAtRest } from './plan-position.ts'
import type { AskedMove } from './resolve-moves.ts'

/** A move of one partition, ready to be written. */
export interface Planned {
  readonly report: PositionReport
  /** Part of the metadata: what tells this move from all others. */
  readonly note: PositionMove
  readonly metadata: string
}

/** How positions are read and planned, the same for every binding. */
export interface Reading {
  readonly read: (asked: readonly AskedMove[]) => Promise<ReadonlyMap<number, PartitionAtRest>>
  /** @throws PositionRefusedError */
  readonly plan: (asked: readonly AskedMove[], atRest: ReadonlyMap<number, PartitionAtRest>) => readonly Planned[]
}

type Producers = ReadonlyMap<number, TransactionalProducer>

interface Given extends Reading {
  readonly binding: AdministeredBinding
  readonly place: ContainerPlace
  readonly transactional: ResolvedTransaction
}

/** Somebody who takes an id each time is at work, and is not waited for. */
const maxRounds = 3

/** @throws PositionRefusedError, PositionUnknownError, PartialFailureError, KafkaError */
export async function moveInTransactions(given: Given, asked: readonly AskedMove[]): Promise<readonly Planned[]> {
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
  #open: readonly AskedMove[]
  readonly #done: Planned[] = []
  /** Of partitions that are open: their commit may have happened. */
  readonly #doubted = new Map<number, Planned>()
  /** Why the last round did not do everything. */
  trouble: KafkaError | undefined

  constructor(given: Given, asked: readonly AskedMove[]) {
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

  /** True once nothing is open any more. */
  async round(): Promise<boolean> {
    await this.#requireNoMembers()
    const producers = await this.#take()
    try {
      await this.#requireNoMembers()
      const atRest = await this.#given.read(this.#open)
      this.#settleDoubts(atRest)
      const plans = this.#given.plan(this.#open, atRest)
      this.#keepOpen((partition) => plans.some(({ report }) => report.partition === partition))
      if (await this.#areAccepted(producers, plans)) await this.#commit(producers, plans)
    } finally {
      await closeAll(producers.values())
    }
    return this.#open.length === 0
  }

  /** A commit is answered before its markers are written; the next epoch of its id is given after that. Never rejects. */
  async untilVisible(): Promise<void> {
    const { binding, place, transactional } = this.#given
    // What is decided stays so, also where nobody can wait for it.
    await Promise.allSettled(
      this.#done.map(({ report }) => endTransactions(binding.client, place.groupId, report, transactional)),
    )
  }

  /** Asked of the coordinator: a transaction, unlike a plain commit, is not refused because of members. */
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

  /** The transactions of the round before are ended by now: what is committed says whether they moved it. */
  #settleDoubts(atRest: ReadonlyMap<number, PartitionAtRest>): void {
    for (const [partition, planned] of this.#doubted) {
      const ledgers = atRest.get(partition)?.ledgers
      const moved = ledgers === undefined || 'problem' in ledgers ? undefined : ledgers.source.moved
      if (moved !== undefined && isSameMove(moved, planned.note)) this.#settle(planned)
    }
    this.#doubted.clear()
  }

  /** True when every position is part of an open transaction; else all are aborted, when their producers close. */
  async #areAccepted(producers: Producers, plans: readonly Planned[]): Promise<boolean> {
    const { groupId } = this.#given.place
    const nobody = { groupId, generationId: -1, memberId: '', instanceId: null }
    const outcomes = await tryEach(plans, ({ report: { topic, partition, to: offset }, metadata }) =>
      producers.get(partition)?.sendOffsets([{ topic, partition, epoch: -1, offset, metadata }], nobody),
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

/** Rejects for bugs alone. */
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

/** Also one that was fenced may have been done: an answer got lost, and the id was taken before the question was repeated. */
function isDoubted(one: PartitionResult): boolean {
  return one.outcome === 'FAILED' && (one.error.kind === 'FENCED' || one.error.kind === 'UNKNOWN')
}

async function closeAll(producers: Iterable<TransactionalProducer>): Promise<void> {
  await Promise.all(Array.from(producers, (producer) => producer.close()))
}

function isSameMove(one: PositionMove, other: PositionMove): boolean {
  return encodeMove(one) === encodeMove(other)
}
