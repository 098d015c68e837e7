/** Slots for processes: in each of them one runs after another. */

import type { Draw } from '../draw.ts'
import type { ClusterTrouble } from './cluster-trouble.ts'

/** One slot. */
export interface Slot<P> {
  readonly index: number
  /** Number of processes that have run in it. */
  incarnation: number
  process: P | null
}

/** See the file's comment. */
export class Slots<P extends object> {
  readonly list: readonly Slot<P>[]
  readonly #trouble: Pick<ClusterTrouble, 'plan'>
  readonly #draw: Draw
  readonly #create: (slot: Slot<P>) => P
  /** Stopped or frozen processes that are about to end. */
  readonly #leaving = new Set<Promise<void>>()

  /** @param create - creates and starts the next process of a slot */
  constructor(count: number, trouble: Pick<ClusterTrouble, 'plan'>, draw: Draw, create: (slot: Slot<P>) => P) {
    this.#trouble = trouble
    this.#draw = draw
    this.#create = create
    this.list = Array.from({ length: count }, (_, index) => ({ index, incarnation: 0, process: null }))
  }

  get processes(): P[] {
    return this.list.flatMap(({ process }) => process ?? [])
  }

  start(slot: Slot<P>): void {
    slot.incarnation++
    slot.process = this.#create(slot)
  }

  /** Removes the process, and starts another later. */
  vacate(slot: Slot<P>): void {
    slot.process = null
    this.#trouble.plan(this.#draw.between(0, 1_500), () => {
      if (slot.process === null) this.start(slot)
    })
  }

  /** Registers an ending process to wait for at the end. */
  leave(leaving: Promise<void>): void {
    this.#leaving.add(leaving)
    void leaving.finally(() => this.#leaving.delete(leaving))
  }

  /** Settles when all ending processes are gone. */
  async left(): Promise<void> {
    await Promise.all(this.#leaving)
  }
}
