/** The world of a seed: the cluster, the time, shared state of programs and knowledge of checkers. */

import type { VirtualRuntime } from '@waybill/sim'
import type { AcceptedCommit } from '@waybill/sim/internal'
import { ClusterWorld, type Station } from '../world/cluster-world.ts'
import type { Trace } from '../world/run-world.ts'
import { CommitChecker } from './commit-checker.ts'
import { HandlerLedger, OutputLedger } from './ledger.ts'
import { LogJournal } from './log-journal.ts'
import { MemberChecker } from './member-checker.ts'
import { createNetworkWitness, type Place } from './network-witness.ts'
import { groupId, outputTopic, type Program } from './program.ts'
import type { RareState } from './rare-states.ts'
import { SendChecker } from './send-checker.ts'
import { TransactionChecker } from './transaction-checker.ts'

/** One seed's world. */
export class World extends ClusterWorld<Program, RareState> {
  readonly handled: HandlerLedger = new HandlerLedger()
  readonly outputs: OutputLedger = new OutputLedger(() => this.journalsOf(outputTopic))
  readonly commits: CommitChecker
  readonly sends: SendChecker
  readonly transactions: TransactionChecker
  readonly #journals = new Map<string, LogJournal[]>()
  readonly #topicNames = new Map<string, string>()
  readonly #places = new Map<string, Place>()

  constructor(runtime: VirtualRuntime, program: Program, trace: Trace | undefined) {
    super(runtime, program, trace)
    this.commits = new CommitChecker({
      cluster: () => this.cluster,
      court: this.court,
      ledger: program.kind === 'SETTLE' ? this.handled : this.outputs,
      journal: (topic, partition) => this.journal(topic, partition),
    })
    this.sends = new SendChecker(this.court)
    this.transactions = new TransactionChecker(this.court)
    const configs = { 'max.message.bytes': `${program.maxBatchBytes}` }
    for (const { name, companion, partitions } of program.topics) {
      this.#createTopic(name, partitions, configs)
      if (companion !== undefined) this.#createTopic(companion, partitions, configs)
    }
    if (program.kind === 'TRANSFORM') this.#createTopic(outputTopic, this.draw.integer(1, 3), {})
  }

  /** Returns the journal of an existing partition: members may discover a new one before its creator does. */
  journal(topic: string, partition: number): LogJournal {
    const journals = this.#journals.get(topic) as LogJournal[]
    while (journals.length <= partition) journals.push(new LogJournal(this.cluster, topic, journals.length))
    return journals[partition] as LogJournal
  }

  journalsOf(topic: string): readonly LogJournal[] {
    return this.#journals.get(topic) ?? []
  }

  /** Returns the journals of all topics that members read. */
  inputs(): LogJournal[] {
    return this.program.topics.flatMap(({ name, companion }) => [
      ...this.journalsOf(name),
      ...(companion === undefined ? [] : this.journalsOf(companion)),
    ])
  }

  allJournals(): LogJournal[] {
    return [...this.#journals.values()].flat()
  }

  /** Creates a process without a consumer. */
  override station(name: string): Station {
    return this.#station(name, undefined)
  }

  /** Creates a process with a consumer that is checked against its contract. */
  memberStation(name: string): Station & { readonly checker: MemberChecker } {
    const checker = new MemberChecker({
      name,
      court: this.court,
      sessionTimeoutMs: this.program.members.options.sessionTimeoutMs,
      now: () => this.now(),
      journal: (topic, partition) => this.journal(topic, partition),
      committed: (topic, partition) => this.commits.committed(topic, partition),
      isMember: (memberId) => this.cluster.group(groupId).members.some((member) => member.memberId === memberId),
    })
    return { ...this.#station(name, checker), checker }
  }

  protected override accepted(commit: AcceptedCommit): void {
    if (commit.groupId !== groupId) return
    this.court.note('cluster', () => `accepts ${commit.offsets.map(shown).join(' ')} from ${commit.client}`)
    for (const offset of commit.offsets) this.runtime.note(shown(offset))
    this.commits.accepted(commit)
  }

  #station(name: string, member: MemberChecker | undefined): Station {
    const witness = createNetworkWitness({
      name,
      court: this.court,
      places: this.#places,
      topicOf: (topicId) => this.#topicNames.get(topicId),
      ...(member === undefined ? {} : { member }),
    })
    return super.station(name, witness)
  }

  #createTopic(name: string, partitions: number, configs: Readonly<Record<string, string>>): void {
    this.#topicNames.set(this.cluster.createTopic(name, { partitions, configs }), name)
    this.#journals.set(
      name,
      Array.from({ length: partitions }, (_, index) => new LogJournal(this.cluster, name, index)),
    )
  }
}

function shown({ topic, partition, offset }: { topic: string; partition: number; offset: bigint }): string {
  return `${topic}-${partition}=${offset}`
}
