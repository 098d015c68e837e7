/** The world of a seed: the cluster, its logs, the transforming processes, and the checks on them. */

import { errorName, type KafkaApi, type RequestOf, type ResponseOf } from '@waybill/kafka/wire'
import type { VirtualRuntime } from '@waybill/sim'
import type { AcceptedCommit } from '@waybill/sim/internal'
import { LogJournal } from '../client/log-journal.ts'
import { ClusterWorld } from '../world/cluster-world.ts'
import type { Trace } from '../world/run-world.ts'
import type { NetworkWitness } from '../world/sim-process.ts'
import { judgeLogs } from './judge-logs.ts'
import { judgeOrder } from './judge-order.ts'
import { PartitionBook } from './partition-book.ts'
import {
  deadLetterTopic,
  groupId,
  outputTopic,
  type Program,
  sourceTopic,
  tierGroupId,
  tierTopic,
  topicBytes,
} from './program.ts'
import type { RareState } from './rare-states.ts'
import type { RecordPlan } from './record-plan.ts'

/** See the file's comment. */
export class World extends ClusterWorld<Program, RareState> {
  /** Calls of the handler on the source, by value. */
  readonly calls = new Map<string, number>()
  readonly #plans: ReadonlyMap<string, RecordPlan>
  /** By topic. */
  readonly #logs: ReadonlyMap<string, readonly LogJournal[]>
  readonly #books: ReadonlyMap<string, readonly PartitionBook[]>

  constructor(runtime: VirtualRuntime, program: Program, trace: Trace | undefined) {
    super(runtime, program, trace)
    this.#plans = new Map(program.records.map((plan) => [plan.value, plan]))
    this.#logs = new Map(
      [sourceTopic, outputTopic, tierTopic, deadLetterTopic].map((topic) => [topic, this.#createTopic(topic)]),
    )
    this.#books = new Map([sourceTopic, tierTopic].map((topic, tier) => [topic, this.#openBooks(topic, tier)]))
  }

  planOf(value: string): RecordPlan {
    return this.#plans.get(value) as RecordPlan
  }

  journalsOf(topic: string): readonly LogJournal[] {
    return this.#logs.get(topic) ?? []
  }

  booksOf(topic: string): readonly PartitionBook[] {
    return this.#books.get(topic) ?? []
  }

  /** Describes what is not settled yet; undefined when everything is. */
  obstacle(): string | undefined {
    for (const book of [...this.#books.values()].flat()) {
      const obstacle = book.obstacle()
      if (obstacle !== undefined) return obstacle
    }
    return undefined
  }

  /**
   * Checks that a read-committed consumer sees exactly the expected records (I13). Commits are checked as they come.
   */
  judge(): void {
    judgeLogs(this)
    judgeOrder(this)
    if (this.program.isCalm && !this.program.hasRefusals) this.#judgeCalls()
  }

  /** Observes the requests of a process. */
  witness(name: string): NetworkWitness {
    const { court } = this
    return {
      sending: (api, request) => {
        if (api === 'EndTxn' && !(request as RequestOf<'EndTxn'>).committed) court.reach('transaction: it is aborted')
      },
      answered: (api, _request, response) => this.#answered(api, response),
      unanswered: (api, _request, error) => {
        court.note(name, () => `gets no answer to ${api}: ${error.message}`)
        if (api === 'EndTxn') court.reach('transaction: the answer to its end is lost')
      },
    }
  }

  protected override accepted({ groupId: group, offsets, transactional, memberId }: AcceptedCommit): void {
    for (const { topic, partition, offset, metadata } of offsets) {
      const isMove = memberId === ''
      this.court.note(isMove ? 'operator' : memberId, () => `commits ${offset} of ${topic}-${partition}`)
      if (group !== groupOf(topic)) this.court.violate('I13', `${group} commits ${topic}-${partition}`)
      if (!transactional && !isMove)
        this.court.violate('I13', `${topic}-${partition}: ${offset} is committed outside of a transaction`)
      this.booksOf(topic)[partition]?.accepted(offset, metadata, isMove)
    }
  }

  #createTopic(topic: string): readonly LogJournal[] {
    const { partitions, tooLargeFor } = this.program
    const isSmall = topic === outputTopic && tooLargeFor === 'TOPIC'
    this.cluster.createTopic(topic, {
      partitions,
      configs: isSmall ? { 'max.message.bytes': `${topicBytes}` } : {},
    })
    return Array.from({ length: partitions }, (_, partition) => new LogJournal(this.cluster, topic, partition))
  }

  #openBooks(topic: string, tier: number): readonly PartitionBook[] {
    const { court } = this
    const planOf = (value: string): RecordPlan => this.planOf(value)
    return this.journalsOf(topic).map((journal) => new PartitionBook({ journal, tier, planOf, court }))
  }

  /** Checks that without deaths every decision is written, and no record is handled twice (L5). */
  #judgeCalls(): void {
    for (const { value, fate } of this.program.records)
      if (fate === 'OK' && this.calls.get(value) !== 1)
        this.court.violate('L5', `${value} was handled ${this.calls.get(value) ?? 0} times without a fault`)
  }

  #answered(api: KafkaApi, response: ResponseOf<KafkaApi>): void {
    for (const code of endCodes(api, response)) {
      const reason = errorName(code)
      if (reason === 'PRODUCER_FENCED' || reason === 'INVALID_PRODUCER_EPOCH')
        this.court.reach('transaction: an owner is fenced')
      if (reason === 'ILLEGAL_GENERATION' || reason === 'UNKNOWN_MEMBER_ID')
        this.court.reach('transaction: offsets are refused, the group has changed hands')
    }
  }
}

function groupOf(topic: string): string {
  return topic === tierTopic ? tierGroupId : groupId
}

/** Returns the codes of a response to a request that ends a transaction. */
function endCodes(api: KafkaApi, response: ResponseOf<KafkaApi>): number[] {
  if (api === 'EndTxn') return [(response as ResponseOf<'EndTxn'>).errorCode]
  if (api !== 'TxnOffsetCommit') return []
  const { topics } = response as ResponseOf<'TxnOffsetCommit'>
  return topics.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorCode))
}
