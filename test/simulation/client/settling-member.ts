/** A member that handles records, each for a while, and commits what is settled. */

import type { KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { OffsetCommit } from '@waybill/kafka/internal'
import { CheckedConsumer } from './checked-consumer.ts'
import type { World } from './world.ts'

/** Maximum delay of any message in flight. */
const longestDelayMs = 6_000

/** A record in progress. */
interface Work {
  readonly offset: bigint
  state: 'RUNNING' | 'SETTLED' | 'FAILED'
}

/** A member's state of a partition, for one assignment. */
interface Progress extends TopicPartition {
  readonly epoch: number
  /** In offset order; all earlier records are settled. */
  works: Work[]
  committed: bigint
  isLeaving: boolean
  isPaused: boolean
}

/** A member that settles records. */
export class SettlingMember {
  readonly consumer: CheckedConsumer
  readonly #world: World
  readonly #progress = new Map<string, Progress>()

  constructor(world: World, name: string, instanceId: string | undefined) {
    this.#world = world
    this.consumer = new CheckedConsumer(world, instanceId, name, {
      assigned: (partitions, epoch) => this.#assigned(partitions, epoch),
      revoking: (partitions, deadlineMs) => this.#drain(partitions, deadlineMs),
      lost: (partitions) => {
        for (const partition of partitions) this.#progress.delete(nameOf(partition))
      },
    })
  }

  async run(): Promise<void> {
    await this.consumer.start()
    await Promise.all([this.#pollOn(), this.#commitOn()])
  }

  #sleep(ms: number): Promise<void> {
    return this.consumer.process.runtime.timers.sleep(ms)
  }

  async #pollOn(): Promise<void> {
    const { draw, program, court } = this.#world
    const { pollRecords, pollMs, idleRate, idleMs, pauseRate, options } = program.members
    for (;;) {
      const records = await this.consumer.poll(pollRecords, pollMs)
      if (records === null) return
      for (const record of records) this.#take(record)
      if (records.length > 0 && draw.chance(pauseRate)) void this.#pauseForAWhile(records[0] as KafkaRecord)
      if (!draw.chance(idleRate)) continue
      if (idleMs > options.maxPollIntervalMs) court.reach('group: a member is suspended because it does not poll')
      await this.#sleep(idleMs)
      void this.consumer.confirmMembership()
    }
  }

  #take(record: KafkaRecord): void {
    const progress = this.#progress.get(nameOf(record))
    if (progress === undefined) return // The checker has already reported it.
    const work: Work = { offset: record.offset, state: 'RUNNING' }
    progress.works.push(work)
    void this.#handle(record, progress, work)
    if (progress.works.length <= this.#world.program.handler.maxAhead || progress.isPaused) return
    progress.isPaused = true
    this.consumer.pause(progress)
  }

  async #handle({ topic, partition, offset }: KafkaRecord, progress: Progress, work: Work): Promise<void> {
    const { draw, program, handled, runtime } = this.#world
    const { maxMs, stuckRate, stuckMs, failRate } = program.handler
    await this.#sleep(draw.chance(stuckRate) ? stuckMs : draw.between(0, maxMs))
    if (draw.chance(failRate)) {
      work.state = 'FAILED'
      this.#fetchAgain(progress, work)
      return
    }
    handled.settle(topic, partition, offset)
    runtime.note(`${topic}-${partition}@${offset}`)
    work.state = 'SETTLED'
    if (progress.works.length > 1) this.#trim(progress)
  }

  /** Forgets the failed record and those after it, and seeks back so that they are fetched again. */
  #fetchAgain(progress: Progress, failed: Work): void {
    if (!this.#isCurrent(progress) || progress.isLeaving) return
    const index = progress.works.indexOf(failed)
    if (index < 0) return // An earlier record failed too, and removed this one.
    progress.works = progress.works.slice(0, index)
    this.consumer.seek(progress, failed.offset)
    this.#trim(progress)
  }

  #trim(progress: Progress): void {
    const first = progress.works.findIndex(({ state }) => state !== 'SETTLED')
    // The last one stays as the mark of the progress.
    const settled = first < 0 ? progress.works.length - 1 : first
    if (settled > 0) progress.works.splice(0, settled)
    const isFree = progress.works.length * 2 <= this.#world.program.handler.maxAhead || progress.works.length <= 1
    if (!progress.isPaused || !isFree || !this.#isCurrent(progress)) return
    progress.isPaused = false
    this.consumer.resume(progress)
  }

  async #pauseForAWhile({ topic, partition }: KafkaRecord): Promise<void> {
    const progress = this.#progress.get(`${topic}-${partition}`)
    if (progress === undefined || progress.isPaused || progress.isLeaving) return
    progress.isPaused = true
    this.consumer.pause(progress)
    await this.#sleep(this.#world.draw.between(10, 300))
    if (!progress.isPaused || !this.#isCurrent(progress)) return
    progress.isPaused = false
    this.consumer.resume(progress)
  }

  async #commitOn(): Promise<void> {
    const { draw, program } = this.#world
    const { commitEveryMs, lateCommitRate } = program.members
    while (!this.consumer.isOver) {
      await this.#sleep(commitEveryMs)
      if (this.consumer.isOver) return
      const due = [...this.#progress.values()].filter(({ isLeaving }) => !isLeaving)
      const offsets = this.#collect(due)
      if (offsets.length === 0) continue
      if (draw.chance(lateCommitRate)) await this.#sleep(draw.between(10, 2_000))
      await this.#commit(due, offsets)
    }
  }

  #collect(due: readonly Progress[]): OffsetCommit[] {
    return due.flatMap((progress) => {
      const { topic, partition, epoch } = progress
      const offset = this.#watermark(progress)
      return offset > progress.committed ? [{ topic, partition, epoch, offset }] : []
    })
  }

  /** Returns the first offset that is not settled. */
  #watermark(progress: Progress): bigint {
    const first = progress.works.find(({ state }) => state !== 'SETTLED')
    if (first !== undefined) return first.offset
    // This includes offsets that are never delivered: markers and aborted records.
    return this.consumer.position(progress) ?? progress.committed
  }

  async #commit(due: readonly Progress[], offsets: readonly OffsetCommit[]): Promise<void> {
    if (offsets.length === 0) return
    const outcome = await this.consumer.commit(offsets)
    if (outcome === 'UNKNOWN') void this.#commitAgain(due)
    if (outcome !== 'DONE') return
    for (const { topic, partition, offset } of offsets) {
      const progress = due.find((one) => one.topic === topic && one.partition === partition)
      if (progress !== undefined && offset > progress.committed) progress.committed = offset
    }
  }

  /**
   * Repeats a commit without a response: the broker may accept the first one after later ones, and move the offsets
   * back.
   */
  async #commitAgain(due: readonly Progress[]): Promise<void> {
    await this.#sleep(longestDelayMs)
    for (const progress of due) progress.committed = -1n
  }

  #assigned(partitions: readonly TopicPartition[], epoch: number): void {
    for (const { topic, partition } of partitions) {
      const committed = this.consumer.position({ topic, partition }) ?? 0n
      const progress = { topic, partition, epoch, works: [], committed, isLeaving: false, isPaused: false }
      this.#progress.set(`${topic}-${partition}`, progress)
    }
  }

  async #drain(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void> {
    const { draw, program } = this.#world
    const leaving = partitions.flatMap((partition) => this.#progress.get(nameOf(partition)) ?? [])
    for (const progress of leaving) progress.isLeaving = true
    const isSloppy = draw.chance(program.members.sloppyDrainRate)
    const { clock } = this.consumer.process.runtime
    const endAt = clock.monotonic() + (isSloppy ? 2 * deadlineMs + 500 : deadlineMs - 150)
    while (leaving.some(isBusy) && clock.monotonic() < endAt) await this.#sleep(20)
    const offsets = this.#collect(leaving.filter((progress) => this.#isCurrent(progress)))
    await this.#commit(leaving, offsets)
    for (const progress of leaving) if (this.#isCurrent(progress)) this.#progress.delete(nameOf(progress))
  }

  #isCurrent(progress: Progress): boolean {
    return this.#progress.get(nameOf(progress)) === progress
  }
}

function isBusy({ works }: Progress): boolean {
  return works.some(({ state }) => state === 'RUNNING')
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}
