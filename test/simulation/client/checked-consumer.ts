/** A consumer that reports everything its user observes and does to a checker. */

import type { Consumer, KafkaError, KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { GroupMetadata, OffsetCommit } from '@waybill/kafka/internal'
import type { SimProcess } from '../world/sim-process.ts'
import type { MemberChecker } from './member-checker.ts'
import { groupId } from './program.ts'
import type { World } from './world.ts'

/** Callbacks of a member for partition changes. */
export interface MemberCallbacks {
  assigned(partitions: readonly TopicPartition[], epoch: number): void
  /** Drains the partitions before they are released. */
  revoking(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void>
  lost(partitions: readonly TopicPartition[]): void
}

/** A member's consumer. */
export class CheckedConsumer {
  readonly checker: MemberChecker
  readonly #world: World
  readonly #process: SimProcess
  readonly #consumer: Consumer
  readonly #callbacks: MemberCallbacks
  #isOver = false

  constructor(world: World, instanceId: string | undefined, name: string, callbacks: MemberCallbacks) {
    const { process, client, checker } = world.memberStation(name)
    this.#world = world
    this.#process = process
    this.checker = checker
    this.#callbacks = callbacks
    const companions = new Map(world.program.topics.map((topic) => [topic.name, topic.companion]))
    this.#consumer = client.consumer({
      ...world.program.members.options,
      groupId,
      topics: world.program.topics.map((topic) => topic.name),
      ...(instanceId === undefined ? {} : { instanceId }),
      ...([...companions.values()].some((topic) => topic !== undefined)
        ? { companion: (topic: string) => companions.get(topic) }
        : {}),
      onAssigned: async (partitions, epoch) => this.#assigned(partitions, epoch),
      onRevoking: (partitions, deadlineMs) => this.#revoking(partitions, deadlineMs),
      onLost: (partitions) => this.#lost(partitions),
      onPositionLost: ({ topic, partition, cause, continuesAt, expected }) => {
        world.court.note(name, () => `position of ${topic}-${partition} lost: ${cause} at ${expected}`)
        // A careful user seeks to the current log start.
        if (continuesAt === null) this.seek({ topic, partition }, world.journal(topic, partition).start)
        else checker.sought({ topic, partition }, continuesAt)
      },
      onPartitionFailed: ({ topic, partition }, error) => {
        world.court.note(name, () => `${topic}-${partition} failed: ${error.message}`)
      },
      onFatal: (error) => this.#fatal(error),
    })
    this.client = client
  }

  readonly client: ReturnType<World['station']>['client']

  get process(): SimProcess {
    return this.#process
  }

  /** True when it is fenced, stopped or dead, and will not come back. */
  get isOver(): boolean {
    return this.#isOver || !this.#process.isAlive
  }

  /** Starts, with as many attempts as that takes. */
  async start(): Promise<void> {
    while (!this.isOver) {
      try {
        await this.#consumer.start()
        return
      } catch (error) {
        this.#world.court.note(this.#process.name, () => `cannot start: ${String(error)}`)
        await this.#process.runtime.timers.sleep(100)
      }
    }
  }

  /** Returns null when it is over. */
  async poll(maxRecords: number, timeoutMs: number): Promise<KafkaRecord[] | null> {
    const { court } = this.#world
    if (this.isOver) return null
    if (!this.checker.isSessionAlive) court.reach('group: a poll finds its own session in doubt')
    try {
      const records = await this.#consumer.poll(maxRecords, timeoutMs)
      this.checker.handedOut(records)
      return records
    } catch (error) {
      if (!this.isOver) court.violate('POLL', `${this.#process.name} cannot poll: ${String(error)}`)
      return null
    }
  }

  pause(partition: TopicPartition): void {
    this.#consumer.pause([partition])
    this.checker.paused(partition, true)
  }

  resume(partition: TopicPartition): void {
    this.checker.paused(partition, false)
    this.#consumer.resume([partition])
  }

  /** Seeks; does nothing for a partition that is not owned or is being released. */
  seek(partition: TopicPartition, offset: bigint): void {
    if (this.checker.epochOf(partition) === undefined) return
    this.checker.sought(partition, offset)
    this.#consumer.seek(partition, offset)
  }

  position(partition: TopicPartition): bigint | undefined {
    return this.#consumer.position(partition)
  }

  /** The member's current group metadata; null when it has none. */
  groupMetadata(): GroupMetadata | null {
    try {
      return this.#consumer.groupMetadata()
    } catch {
      return null // Between two generations there is none, and nothing can be committed.
    }
  }

  committed(partitions: readonly TopicPartition[]): ReturnType<Consumer['committed']> {
    return this.#consumer.committed(partitions)
  }

  /** Commits. UNKNOWN: the broker may accept it at any time, even after a later commit. */
  async commit(offsets: readonly OffsetCommit[]): Promise<'DONE' | 'UNKNOWN' | 'FAILED'> {
    const { court } = this.#world
    const isStale = offsets.some((offset) => {
      const epoch = this.checker.epochOf(offset)
      return epoch !== undefined && epoch !== offset.epoch
    })
    const call = { offsets, generationId: this.groupMetadata()?.generationId ?? -1 }
    this.checker.committing(call)
    const before = offsets.map((offset) => this.#world.commits.countOf(offset))
    try {
      await this.#consumer.commit(offsets)
      if (isStale) court.violate('I3', `${this.#process.name} reports a commit of an old assignment as done`)
      this.#checkAccepted(offsets, before)
      return 'DONE'
    } catch (error) {
      const { kind } = error as KafkaError
      court.note(this.#process.name, () => `commit ${kind}: ${String(error)}`)
      if (isStale) court.reach('group: a commit of an old assignment is refused before it is sent')
      if (!['RETRIABLE', 'REBALANCING', 'UNKNOWN', 'FENCED'].includes(kind) && !this.isOver)
        court.violate('COMMIT', `${this.#process.name} cannot commit: ${String(error)}`)
      return kind === 'UNKNOWN' ? 'UNKNOWN' : 'FAILED'
    } finally {
      this.checker.committed(call)
    }
  }

  /** Checks that the cluster has accepted each acknowledged commit, or a later one in its place. */
  #checkAccepted(offsets: readonly OffsetCommit[], before: readonly number[]): void {
    const { commits, court } = this.#world
    for (const [index, offset] of offsets.entries())
      if (commits.countOf(offset) === before[index])
        court.violate(
          'REPORTED',
          `${this.#process.name} reports ${offset.topic}-${offset.partition} as committed, and the cluster has not accepted it`,
        )
  }

  async confirmMembership(): Promise<void> {
    const { court } = this.#world
    const before = this.checker.acknowledgedBeats
    if (!(await this.#consumer.confirmMembership())) return
    court.reach('group: a membership is confirmed')
    if (this.checker.acknowledgedBeats === before)
      court.violate('I3', `${this.#process.name} confirms a membership without a heartbeat`)
  }

  /** Stops gracefully. */
  async stop(): Promise<void> {
    const { court } = this.#world
    const { clock } = this.#process.runtime
    const deadlineMs = 5_000
    const startedAt = clock.monotonic()
    this.#isOver = true
    await this.#consumer.stop({ deadlineMs })
    this.checker.stopped()
    court.note(this.#process.name, () => 'stopped')
    const tookMs = clock.monotonic() - startedAt
    if (tookMs > deadlineMs + 1 && !this.#wasFrozen)
      court.violate('I18', `${this.#process.name} took ${tookMs} ms to stop`)
    await this.client.close()
  }

  freeze(): void {
    this.#wasFrozen = true
    this.#process.freeze()
  }

  /** A process that was stopped cannot keep deadlines. */
  #wasFrozen = false

  #assigned(partitions: readonly TopicPartition[], epoch: number): void {
    this.checker.assigned(partitions, epoch)
    this.#callbacks.assigned(partitions, epoch)
  }

  async #revoking(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void> {
    const { clock, timers } = this.#process.runtime
    const startedAt = clock.monotonic()
    const release = this.checker.revoking(partitions)
    try {
      await this.#callbacks.revoking(partitions, deadlineMs)
    } finally {
      if (clock.monotonic() - startedAt > this.#world.program.members.options.sessionTimeoutMs)
        this.#world.court.reach('group: a drain outlives a session')
      // The consumer releases partitions a few turns later, and may write a commit until then.
      timers.schedule(0, release)
    }
  }

  #lost(partitions: readonly TopicPartition[]): void {
    const { court } = this.#world
    const isDrain = this.checker.lost(partitions)
    court.reach(isDrain ? 'group: the deadline of a drain passes' : 'group: a partition is lost without a drain')
    this.#callbacks.lost(partitions)
  }

  #fatal(error: Error): void {
    this.#isOver = true
    const isFenced = (error as KafkaError).kind === 'FENCED' && this.#world.program.members.isStatic
    if (!isFenced) this.#world.court.violate('FATAL', `${this.#process.name} gives up: ${String(error)}`)
  }
}
