/**
 * The containers of one run of a binding: those of each topic that it reads, also of topics that are found later. What
 * holds for the binding holds for all of them, whenever they come.
 */

import type { ContainerStatus } from '../api/binding-view.ts'
import type { ContainerPlace } from '../api/container-place.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { containerPlacesOf } from '../options/container-places.ts'
import type { Container } from './container.ts'

/** What a run needs of a container. */
export type ContainerHandle = Pick<Container, 'start' | 'stop' | 'pause' | 'resume' | 'status'>

/** See the file's comment. */
export class BindingContainers {
  readonly #create: (part: ResolvedBinding, place: ContainerPlace) => ContainerHandle
  readonly #byTopic = new Map<string, readonly ContainerHandle[]>()
  readonly #pausedBy = new Set<PauseReason>()
  #isStopped = false

  constructor(create: (part: ResolvedBinding, place: ContainerPlace) => ContainerHandle) {
    this.#create = create
  }

  has(topic: string): boolean {
    return this.#byTopic.has(topic)
  }

  /** Makes the containers of one topic; they are started with the others, or by {@link startTopic}. */
  add(part: ResolvedBinding): void {
    this.#byTopic.set(
      part.topic,
      containerPlacesOf(part).map((place) => this.#create(part, place)),
    )
  }

  /** All topics at once; of each the source, then its tiers. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from(this.#byTopic.values(), (containers) => this.#startEach(containers, signal)))
  }

  /** One that was found later. When it fails, nothing of it stays, and it can be added again. */
  async startTopic(part: ResolvedBinding, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isStopped) return
    this.add(part)
    const containers = this.#byTopic.get(part.topic) ?? []
    for (const reason of this.#pausedBy) for (const container of containers) container.pause(reason)
    try {
      await this.#startEach(containers, signal)
    } catch (error) {
      await Promise.all(containers.map((container) => container.stop({ deadlineMs: 0 })))
      this.#byTopic.delete(part.topic)
      throw error
    }
  }

  /** One that is not there any more. */
  async stopTopic(topic: string, options: { readonly deadlineMs: number }): Promise<void> {
    await Promise.all((this.#byTopic.get(topic) ?? []).map((container) => container.stop(options)))
    this.#byTopic.delete(topic)
  }

  async stop(options: { readonly deadlineMs: number; readonly leave?: boolean }): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#all().map((container) => container.stop(options)))
  }

  pause(reason: PauseReason): void {
    this.#pausedBy.add(reason)
    for (const container of this.#all()) container.pause(reason)
  }

  resume(reason: PauseReason): void {
    this.#pausedBy.delete(reason)
    for (const container of this.#all()) container.resume(reason)
  }

  status(): readonly ContainerStatus[] {
    return this.#all().map((container) => container.status())
  }

  #all(): readonly ContainerHandle[] {
    return [...this.#byTopic.values()].flat()
  }

  async #startEach(containers: readonly ContainerHandle[], signal: AbortSignal): Promise<void> {
    for (const container of containers) {
      if (signal.aborted || this.#isStopped) return
      await container.start()
    }
  }
}
