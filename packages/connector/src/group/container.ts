/** One topic of a binding: its group members, and the reasons for which all of them are paused. */

import type { Buffer } from 'node:buffer'
import type { ContainerStatus, KeyState } from '../api/binding-view.ts'
import type { ContainerPlace } from '../api/container-place.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import type { PartitionWorker } from '../partition/partition-worker.ts'
import type { ContainerDeps } from './container-deps.ts'
import { Member } from './member.ts'
import { RebalanceReport } from './rebalance-report.ts'

/** Runs one topic, once: a stopped container cannot be started again. */
export class Container {
  readonly place: ContainerPlace
  readonly #members: readonly Member[]
  readonly #pausedBy = new Set<PauseReason>()

  constructor(deps: ContainerDeps) {
    this.place = deps.place
    const runtime = {
      ...deps.runtime,
      logger: deps.runtime.logger.child({
        bindingName: deps.binding.name,
        cluster: deps.binding.cluster,
        container: deps.place.name,
      }),
    }
    const rebalances = new RebalanceReport(deps.place, deps.telemetry, runtime.logger)
    this.#members = Array.from(
      { length: deps.place.concurrency },
      (_, index) => new Member({ ...deps, runtime }, index, { rebalances, pausedBy: () => this.#pausedBy }),
    )
  }

  get pausedBy(): readonly PauseReason[] {
    return [...this.#pausedBy]
  }

  /** Resolves when the cluster has answered every member. When one fails, all members are stopped. */
  async start(): Promise<void> {
    const results = await Promise.allSettled(this.#members.map((member) => member.start()))
    const failure = results.find((result) => result.status === 'rejected')
    if (failure === undefined) return
    await this.stop({ deadlineMs: 0 })
    throw failure.reason
  }

  /** Drains, commits and leaves the group, by the deadline. Never rejects. */
  async stop({ deadlineMs, leave }: { readonly deadlineMs: number; readonly leave?: boolean }): Promise<void> {
    this.pause('SHUTDOWN')
    await Promise.all(this.#members.map((member) => member.stop(deadlineMs, leave)))
  }

  /** Pauses all partitions, including those assigned later. */
  pause(reason: PauseReason): void {
    this.#pausedBy.add(reason)
    for (const worker of this.#workers()) worker.pause(reason)
  }

  /** Removes the reason from the container and from every partition that is paused for it on its own. */
  resume(reason: PauseReason): void {
    this.#pausedBy.delete(reason)
    for (const worker of this.#workers()) worker.resume(reason)
  }

  /**
   * Makes a record that failed and stays in its partition a dead letter, and resumes the partition if only that record
   * paused it. Returns false if no member of this process has such a record.
   */
  condemn(partition: number, offset: bigint): boolean {
    for (const worker of this.#workers()) {
      if (worker.partition !== partition || !worker.condemn(offset)) continue
      if (!this.#pausedBy.has('EXHAUSTED')) worker.resume('EXHAUSTED')
      return true
    }
    return false
  }

  /** Returns the state of a key; undefined if no member of this process orders it. */
  keyState(partition: number, key: Buffer): KeyState | undefined {
    const worker = [...this.#workers()].find((one) => one.partition === partition)
    return worker?.keyState?.(key)
  }

  status(): ContainerStatus {
    return { place: this.place, pausedBy: this.pausedBy, members: this.#members.map((member) => member.status()) }
  }

  *#workers(): Iterable<PartitionWorker> {
    for (const member of this.#members) yield* member.workers
  }
}
