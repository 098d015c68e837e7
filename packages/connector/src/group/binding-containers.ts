/**
 * The containers of one run of a binding: source and tiers of every topic it reads, including topics discovered after
 * the start. A pause of the binding applies to all of them, including those added later.
 */

import type { Buffer } from 'node:buffer'
import type { ContainerStatus, KeyState } from '../api/binding-view.ts'
import type { ContainerPlace } from '../api/container-place.ts'
import type { PausedRecord } from '../api/control.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { containerPlacesOf } from '../options/container-places.ts'
import type { Container } from './container.ts'

/** The part of a container that a run uses. */
export type ContainerHandle = Pick<Container, 'place' | 'start' | 'stop' | 'pause' | 'resume' | 'status' | 'condemn'> &
  Partial<Pick<Container, 'keyState'>>

/** The containers of one run, by topic. */
export class BindingContainers {
  readonly #create: (part: ResolvedBinding, place: ContainerPlace) => ContainerHandle
  readonly #byTopic = new Map<string, readonly ContainerHandle[]>()
  readonly #pausedBy = new Set<PauseReason>()
  /** Tiers that an operator paused on their own. */
  readonly #pausedTiers = new Set<number>()
  #isStopped = false

  constructor(create: (part: ResolvedBinding, place: ContainerPlace) => ContainerHandle) {
    this.#create = create
  }

  has(topic: string): boolean {
    return this.#byTopic.has(topic)
  }

  /** Creates the containers of one topic. {@link start} starts them with all others, {@link startTopic} alone. */
  add(part: ResolvedBinding): void {
    this.#byTopic.set(
      part.topic,
      containerPlacesOf(part).map((place) => this.#create(part, place)),
    )
  }

  /** Starts all topics concurrently; within a topic the source starts first, then its tiers. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from(this.#byTopic.values(), (containers) => this.#startEach(containers, signal)))
  }

  /** Starts a topic discovered later. On failure its containers are removed, so that the topic can be added again. */
  async startTopic(part: ResolvedBinding, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isStopped) return
    this.add(part)
    const containers = this.#byTopic.get(part.topic) ?? []
    for (const reason of this.#pausedBy) for (const container of containers) container.pause(reason)
    for (const container of containers) if (this.#isTierPaused(container)) container.pause('OPERATOR')
    try {
      await this.#startEach(containers, signal)
    } catch (error) {
      await Promise.all(containers.map((container) => container.stop({ deadlineMs: 0 })))
      this.#byTopic.delete(part.topic)
      throw error
    }
  }

  /** Stops and removes the containers of a deleted topic. */
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
    for (const container of this.#all())
      if (reason !== 'OPERATOR' || !this.#isTierPaused(container)) container.resume(reason)
  }

  /** Pauses one tier of every topic, until {@link resumeTier}: a resume of the binding does not end it. */
  pauseTier(tier: number): void {
    this.#pausedTiers.add(tier)
    for (const container of this.#all()) if (container.place.tier === tier) container.pause('OPERATOR')
  }

  /** Ends the pause of one tier. An operator's pause of the binding still pauses it. */
  resumeTier(tier: number): void {
    this.#pausedTiers.delete(tier)
    if (this.#pausedBy.has('OPERATOR')) return
    for (const container of this.#all()) if (container.place.tier === tier) container.resume('OPERATOR')
  }

  /** See {@link Container.condemn}. */
  condemn(topic: string, { tier = 0, partition, offset }: PausedRecord): boolean {
    const found = this.#byTopic.get(topic)?.find(({ place }) => place.tier === tier)
    return found?.condemn(partition, offset) ?? false
  }

  /** See {@link Container.keyState}. */
  keyState(topic: string, partition: number, key: Buffer): KeyState | undefined {
    const source = this.#byTopic.get(topic)?.find(({ place }) => place.tier === 0)
    return source?.keyState?.(partition, key)
  }

  status(): readonly ContainerStatus[] {
    return this.#all().map((container) => container.status())
  }

  #isTierPaused({ place }: ContainerHandle): boolean {
    return this.#pausedTiers.has(place.tier)
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
