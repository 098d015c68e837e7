/** The world of a seed: the cluster, the time, the processes and the knowledge of checkers. */

import type { TopicPartition } from '@waybill/kafka'
import type { VirtualRuntime } from '@waybill/sim'
import type { AcceptedCommit } from '@waybill/sim/internal'
import { ClusterWorld } from '../world/cluster-world.ts'
import type { Trace } from '../world/run-world.ts'
import { CallChecker } from './call-checker.ts'
import { CommitChecker } from './commit-checker.ts'
import { DerivedChecker } from './derived-checker.ts'
import { EffectStore } from './effect-store.ts'
import { Evidence } from './evidence.ts'
import type { Ground } from './ground.ts'
import { HandlerJournal, type HandlerProcess } from './handler-journal.ts'
import { LogCuts } from './log-cuts.ts'
import { LossBook } from './loss-book.ts'
import { MarkChecker } from './mark-checker.ts'
import { MarkServer } from './mark-server.ts'
import { MoveChecker } from './move-checker.ts'
import { Obstruction } from './obstruction.ts'
import { placesOf } from './places.ts'
import type { Program } from './program.ts'
import type { RareState } from './rare-states.ts'
import { sourceTopic } from './source-topic.ts'
import { StatusChecker } from './status-checker.ts'
import { TierDelayChecker } from './tier-delay-checker.ts'
import { TopicLog } from './topic-log.ts'

/** One seed's world. */
export class World extends ClusterWorld<Program, RareState> implements Ground {
  /** By topic and partition. */
  readonly logs = new Map<string, TopicLog>()
  readonly evidence: Evidence
  readonly journal: HandlerJournal
  readonly commits: CommitChecker
  readonly moves: MoveChecker
  readonly callChecker: CallChecker
  readonly derivedChecker: DerivedChecker
  readonly statusChecker: StatusChecker
  readonly tierDelays: TierDelayChecker
  readonly effects: EffectStore
  readonly marks: MarkChecker
  readonly markServer: MarkServer
  readonly losses: LossBook = new LossBook()
  readonly obstruction: Obstruction
  readonly logCuts: LogCuts = new LogCuts()
  /** All processes that ever ran, by name. */
  readonly connectors = new Map<string, HandlerProcess>()
  /** When the last fault ended; undefined while there are any. */
  healedAt: number | undefined
  /** How often the wall clock was set. */
  jumps = 0
  readonly #changed = new Set<TopicLog>()
  readonly #topics: ReadonlySet<string>
  #replacedAt: number | undefined
  readonly #startedAt: number
  /** False when no partition can appear: looking for missing ones takes time. */
  readonly #mayGrow: boolean

  constructor(runtime: VirtualRuntime, program: Program, trace: Trace | undefined) {
    super(runtime, program, trace)
    this.obstruction = new Obstruction(program.obstruction)
    this.effects = new EffectStore(this.court)
    this.#startedAt = runtime.clock.monotonic()
    this.#topics = new Set(program.bindings.flatMap((binding) => placesOf(binding).map(({ topic }) => topic)))
    this.#mayGrow = program.createsTopics || program.chaos.some(({ kind }) => kind === 'GROW')
    this.evidence = new Evidence(this, (derived) => this.derivedChecker.check(derived))
    this.marks = new MarkChecker(this)
    this.markServer = new MarkServer(this)
    this.journal = new HandlerJournal(this)
    this.moves = new MoveChecker(this)
    this.commits = new CommitChecker(this)
    this.callChecker = new CallChecker(this)
    this.derivedChecker = new DerivedChecker(this)
    this.statusChecker = new StatusChecker(this)
    this.tierDelays = new TierDelayChecker(this)
    for (const topic of program.topics)
      if (topic !== program.lateTopic?.topic) this.#createTopic(topic, program.partitions)
    if (!program.createsTopics) this.#createDerivedTopics()
  }

  sinceStart(): number {
    return this.now() - this.#startedAt
  }

  log(topic: string, partition: number): TopicLog | undefined {
    return this.logs.get(`${topic}-${partition}`)
  }

  takeChangedLogs(): readonly TopicLog[] {
    if (this.#changed.size === 0) return noLogs
    const changed = [...this.#changed]
    this.#changed.clear()
    return changed
  }

  /** Deletes source records by retention, including unread ones. */
  deleteBefore({ topic, partition }: TopicLog, offset: bigint): void {
    this.evidence.update()
    this.losses.deleted(topic, partition, offset)
    this.cluster.deleteRecords(topic, partition, offset)
  }

  /** Elects a leader of a source log that has only a share of it. */
  cutLog(log: TopicLog, keeps: number): void {
    this.evidence.update()
    const { topic, partition, end: before } = log
    const wanted = BigInt(Math.floor(keeps * Number(before)))
    const end = this.cluster.electUnclean(topic, partition, wanted)
    this.court.note('cluster', () => `cuts ${topic}-${partition} at ${end} of ${before}`)
    if (end >= before) return
    this.court.reach('log: an unclean election cuts it')
    log.cut(end)
    this.evidence.sourceCut(topic, partition, end)
    this.logCuts.note(log, { at: this.now(), end })
    for (const { groupId } of this.program.bindings)
      this.logCuts.outlived(groupId, log, this.commits.last(groupId, topic, partition)?.state)
  }

  /** Deletes the source with everything in it. */
  deleteSource(): void {
    this.evidence.sourceDeleted()
    this.cluster.deleteTopic(sourceTopic)
    for (const [name, { topic }] of this.logs) if (topic === sourceTopic) this.logs.delete(name)
  }

  /** Recreates it: the same name, another log. */
  recreateSource(): void {
    this.commits.sourceReplaced()
    this.#replacedAt = this.now()
    this.#createTopic(sourceTopic, this.program.partitions)
  }

  /** Creates the late source, unless it exists. */
  createLateTopic(): void {
    const { lateTopic, partitions } = this.program
    if (lateTopic !== undefined && !this.logs.has(`${lateTopic.topic}-0`))
      this.#createTopic(lateTopic.topic, partitions)
  }

  isUnaware(process: string, groupId: string, partition: TopicPartition): boolean {
    const since = this.#replacedAt
    if (since === undefined || partition.topic !== sourceTopic) return false
    const watches = this.connectors.get(process)?.consumerWatches ?? []
    return !watches.some((watch) => watch.groupId === groupId && (watch.holdsSince(partition) ?? 0) >= since)
  }

  isUnawareOfCut(process: string, groupId: string, partition: TopicPartition): boolean {
    const watches = this.connectors.get(process)?.consumerWatches ?? []
    const committed = this.commits.last(groupId, partition.topic, partition.partition)?.offset ?? 0n
    return this.logCuts.isUnknownTo(watches, groupId, partition, committed)
  }

  beginsAnew(process: string, groupId: string, partition: TopicPartition): boolean {
    const witnesses = this.connectors.get(process)?.consumerWatches ?? []
    if (this.logCuts.isReadAgainBy(witnesses, groupId, partition)) return true
    if (this.#replacedAt === undefined || partition.topic !== sourceTopic) return false
    const watches = this.connectors.get(process)?.consumerWatches ?? []
    return watches.some((watch) => watch.groupId === groupId && watch.beginsAnew(partition))
  }

  /** Creates the dead letter topics where an obstruction has withheld them. */
  createDeadLetterTopics(): void {
    const topics = new Set(
      this.program.bindings.flatMap(placesOf).flatMap((one) => (one.kind === 'DLT' ? one.topic : [])),
    )
    const configs = { 'max.message.bytes': `${this.program.deadLetterBytes}` }
    for (const topic of topics) this.#createTopic(topic, this.program.derivedPartitions, configs)
  }

  /** Discovers new topics and partitions. */
  discover(): void {
    if (!this.#mayGrow) return
    for (const topic of this.#topics)
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

  protected override accepted(commit: AcceptedCommit): void {
    this.commits.accepted(commit)
  }

  /** Discovers a new partition: it may be written and read before its creator receives the response. */
  protected override logChanged(topic: string, partition: number): void {
    const log = this.log(topic, partition)
    if (log !== undefined) this.#changed.add(log)
    else if (this.#topics.has(topic)) this.#follow(topic, partition)
  }

  #createDerivedTopics(): void {
    const { bindings, partitions, derivedPartitions } = this.program
    for (const { kind, topic } of bindings.flatMap(placesOf))
      if (kind === 'WAITING' || kind === 'TIER')
        this.#createTopic(topic, kind === 'WAITING' ? partitions : derivedPartitions)
    if (this.program.obstruction?.kind !== 'NO_DEAD_LETTER_TOPIC') this.createDeadLetterTopics()
  }

  #createTopic(topic: string, partitions: number, configs: Readonly<Record<string, string>> = {}): void {
    this.cluster.createTopic(topic, { partitions, configs })
    for (let partition = 0; partition < partitions; partition++) this.#follow(topic, partition)
  }

  #follow(topic: string, partition: number): void {
    const log = new TopicLog(this.cluster, topic, partition)
    this.logs.set(`${topic}-${partition}`, log)
    this.#changed.add(log)
  }
}

const noLogs: readonly TopicLog[] = []
