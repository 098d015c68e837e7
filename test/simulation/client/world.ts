/** Everything a seed consists of: the cluster, the time, what programs share and what checkers know. */

import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { Draw } from '../draw.ts'
import { SimProcess } from '../world/sim-process.ts'
import { CommitChecker } from './commit-checker.ts'
import { Court } from './court.ts'
import { HandlerLedger, OutputLedger } from './ledger.ts'
import { LogJournal } from './log-journal.ts'
import { MemberChecker } from './member-checker.ts'
import { createNetworkWitness, type Place } from './network-witness.ts'
import { groupId, outputTopic, type Program } from './program.ts'
import { SendChecker } from './send-checker.ts'
import { TransactionChecker } from './transaction-checker.ts'

/** A process with its client. */
export interface Station {
  readonly process: SimProcess
  readonly client: KafkaClient
}

/** One seed's world. */
export class World {
  readonly runtime: VirtualRuntime
  readonly program: Program
  readonly court: Court
  readonly cluster: SimCluster
  /** Choices of the programs and of the chaos. */
  readonly draw: Draw
  readonly handled: HandlerLedger = new HandlerLedger()
  readonly outputs: OutputLedger = new OutputLedger(() => this.journalsOf(outputTopic))
  readonly commits: CommitChecker
  readonly sends: SendChecker
  readonly transactions: TransactionChecker
  readonly #journals = new Map<string, LogJournal[]>()
  readonly #topicNames = new Map<string, string>()
  readonly #processes: SimProcess[] = []
  readonly #places = new Map<string, Place>()

  constructor(runtime: VirtualRuntime, program: Program, trace: ((who: string, text: string) => void) | undefined) {
    this.runtime = runtime
    this.program = program
    this.court = new Court(trace)
    this.draw = new Draw(runtime.random)
    this.commits = new CommitChecker({
      cluster: () => this.cluster,
      court: this.court,
      ledger: program.kind === 'SETTLE' ? this.handled : this.outputs,
      journal: (topic, partition) => this.journal(topic, partition),
    })
    this.sends = new SendChecker(this.court)
    this.transactions = new TransactionChecker(this.court)
    this.cluster = createSimCluster({
      brokers: program.brokers,
      runtime,
      latencyMs: program.latencyMs,
      markerDelayMs: program.markerDelayMs,
      onCommit: (commit) => {
        if (commit.groupId !== groupId) return
        this.court.note('cluster', () => `accepts ${commit.offsets.map(shown).join(' ')} from ${commit.client}`)
        for (const offset of commit.offsets) runtime.note(shown(offset))
        this.commits.accepted(commit)
      },
    })
    const configs = { 'max.message.bytes': `${program.maxBatchBytes}` }
    for (const { name, companion, partitions } of program.topics) {
      this.#createTopic(name, partitions, configs)
      if (companion !== undefined) this.#createTopic(companion, partitions, configs)
    }
    if (program.kind === 'TRANSFORM') this.#createTopic(outputTopic, this.draw.integer(1, 3), {})
  }

  get faultCounts(): ReadonlyMap<string, number> {
    return this.cluster.faultCounts
  }

  now(): number {
    return this.runtime.clock.monotonic()
  }

  /** Of a partition that is there: members may know of a new one before whoever asked for it. */
  journal(topic: string, partition: number): LogJournal {
    const journals = this.#journals.get(topic) as LogJournal[]
    while (journals.length <= partition) journals.push(new LogJournal(this.cluster, topic, journals.length))
    return journals[partition] as LogJournal
  }

  journalsOf(topic: string): readonly LogJournal[] {
    return this.#journals.get(topic) ?? []
  }

  /** Journals of all that members read. */
  inputs(): LogJournal[] {
    return this.program.topics.flatMap(({ name, companion }) => [
      ...this.journalsOf(name),
      ...(companion === undefined ? [] : this.journalsOf(companion)),
    ])
  }

  allJournals(): LogJournal[] {
    return [...this.#journals.values()].flat()
  }

  /** Also those that were told to stop in their sleep. */
  thawAll(): void {
    for (const process of this.#processes) process.thaw()
  }

  /** A process without a consumer. */
  station(name: string): Station {
    return this.#station(name, undefined)
  }

  /** A process with a consumer that is held to its contract. */
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

  #station(name: string, member: MemberChecker | undefined): Station {
    const witness = createNetworkWitness({
      name,
      court: this.court,
      places: this.#places,
      topicOf: (topicId) => this.#topicNames.get(topicId),
      ...(member === undefined ? {} : { member }),
    })
    const process = new SimProcess(name, this.runtime, this.cluster.transport(name), witness)
    this.#processes.push(process)
    const client = createKafkaClient({
      brokers: this.cluster.brokers,
      clientId: name,
      transport: process.transport,
      runtime: process.runtime,
    })
    return { process, client }
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
