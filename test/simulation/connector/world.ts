/** Everything a seed consists of: the cluster, the time, the processes, and what checkers know. */

import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { Draw } from '../draw.ts'
import { Court } from '../world/court.ts'
import { type NetworkWitness, SimProcess } from '../world/sim-process.ts'
import { CallChecker } from './call-checker.ts'
import { CommitChecker } from './commit-checker.ts'
import { DerivedChecker } from './derived-checker.ts'
import { Evidence } from './evidence.ts'
import type { Ground } from './ground.ts'
import { HandlerJournal } from './handler-journal.ts'
import { placesOf } from './places.ts'
import { type Program, sourceTopic } from './program.ts'
import type { RareState } from './rare-states.ts'
import { StatusChecker } from './status-checker.ts'
import { TopicLog } from './topic-log.ts'

/** A process with its client. */
export interface Station {
  readonly sim: SimProcess
  readonly client: KafkaClient
}

/** One seed's world. */
export class World implements Ground {
  readonly runtime: VirtualRuntime
  readonly program: Program
  readonly court: Court<RareState>
  readonly cluster: SimCluster
  /** Choices of the handlers and of the chaos. */
  readonly draw: Draw
  /** By topic and partition. */
  readonly logs = new Map<string, TopicLog>()
  readonly evidence: Evidence
  readonly journal: HandlerJournal
  readonly commits: CommitChecker
  readonly callChecker: CallChecker
  readonly derivedChecker: DerivedChecker
  readonly statusChecker: StatusChecker
  /** How often the wall clock was set. */
  jumps = 0
  readonly #stations: SimProcess[] = []
  readonly #startedAt: number
  /** Asking for what is not there is what takes time. */
  readonly #mayGrow: boolean

  constructor(runtime: VirtualRuntime, program: Program, trace: ((who: string, text: string) => void) | undefined) {
    this.runtime = runtime
    this.program = program
    this.court = new Court(trace)
    this.draw = new Draw(runtime.random)
    this.#startedAt = runtime.clock.monotonic()
    this.#mayGrow = program.createsTopics || program.chaos.some(({ kind }) => kind === 'GROW')
    this.cluster = createSimCluster({
      brokers: program.brokers,
      runtime,
      latencyMs: program.latencyMs,
      onCommit: (commit) => this.commits.accepted(commit),
    })
    this.evidence = new Evidence(this, (derived) => this.derivedChecker.check(derived))
    this.journal = new HandlerJournal(this)
    this.commits = new CommitChecker(this)
    this.callChecker = new CallChecker(this)
    this.derivedChecker = new DerivedChecker(this)
    this.statusChecker = new StatusChecker(this)
    this.#createTopic(sourceTopic, program.partitions)
    if (!program.createsTopics) this.#createDerivedTopics()
  }

  now(): number {
    return this.runtime.clock.monotonic()
  }

  sinceStart(): number {
    return this.now() - this.#startedAt
  }

  log(topic: string, partition: number): TopicLog | undefined {
    return this.logs.get(`${topic}-${partition}`)
  }

  /** Finds topics and partitions that are new. */
  discover(): void {
    if (!this.#mayGrow) return
    const topics = new Set(this.program.bindings.flatMap((binding) => placesOf(binding).map(({ topic }) => topic)))
    for (const topic of topics)
      for (let partition = 0; ; partition++) {
        if (this.logs.has(`${topic}-${partition}`)) continue
        try {
          this.cluster.partition(topic, partition)
        } catch {
          break // There is no such partition.
        }
        this.#follow(topic, partition)
      }
  }

  thawAll(): void {
    for (const station of this.#stations) station.thaw()
  }

  station(name: string, witness: NetworkWitness = blind): Station {
    const sim = new SimProcess(name, this.runtime, this.cluster.transport(name), witness)
    this.#stations.push(sim)
    const { transport, runtime } = sim
    return { sim, client: createKafkaClient({ brokers: this.cluster.brokers, clientId: name, transport, runtime }) }
  }

  #createDerivedTopics(): void {
    for (const binding of this.program.bindings)
      for (const { kind, topic } of placesOf(binding))
        if (kind !== 'SOURCE')
          this.#createTopic(topic, kind === 'WAITING' ? this.program.partitions : this.program.derivedPartitions)
  }

  #createTopic(topic: string, partitions: number): void {
    this.cluster.createTopic(topic, { partitions })
    for (let partition = 0; partition < partitions; partition++) this.#follow(topic, partition)
  }

  #follow(topic: string, partition: number): void {
    this.logs.set(`${topic}-${partition}`, new TopicLog(this.cluster, topic, partition))
  }
}

const blind: NetworkWitness = { sending() {}, answered() {}, unanswered() {} }
