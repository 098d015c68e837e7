/** What retention took away, what consumers said of it, and what the engine counted as lost (C-72, D22). */

import { type Metrics } from '@waybill/core'
import { noopMetrics } from '@waybill/core/internal'
import type { PositionLoss } from '@waybill/kafka/internal'

/** Offsets of which a group was told that it will not see them. */
interface ToldRange {
  readonly from: bigint
  readonly to: bigint
}

/** The name of the counter, as the documentation has it. */
const lostCounter = 'eventbus.records.lost'

/** See the file's comment. */
export class LossBook {
  readonly #told = new Map<string, ToldRange[]>()
  readonly #starts = new Map<string, bigint>()
  /** By binding, and by process and binding. */
  readonly #counted = new Map<string, number>()

  /** Retention is about to delete everything below an offset. */
  deleted(topic: string, partition: number, before: bigint): void {
    const name = `${topic}-${partition}`
    if (before > this.startOf(topic, partition)) this.#starts.set(name, before)
  }

  /** Where a log begins now. */
  startOf(topic: string, partition: number): bigint {
    return this.#starts.get(`${topic}-${partition}`) ?? 0n
  }

  /** A consumer goes on elsewhere than where it should have. */
  told(groupId: string, { topic, partition, expected, continuesAt }: PositionLoss): void {
    const name = `${groupId} ${topic}-${partition}`
    const range = { from: expected ?? 0n, to: continuesAt ?? 0n }
    this.#told.set(name, [...(this.#told.get(name) ?? []), range])
  }

  /** Whether the group was told that it will not see this offset. */
  isTold(groupId: string, topic: string, partition: number, offset: bigint): boolean {
    const ranges = this.#told.get(`${groupId} ${topic}-${partition}`) ?? []
    return ranges.some(({ from, to }) => offset >= from && offset < to)
  }

  /** Whether the group was told to go on here. */
  continuesAt(groupId: string, topic: string, partition: number, offset: bigint): boolean {
    return this.#told.get(`${groupId} ${topic}-${partition}`)?.some(({ to }) => to === offset) ?? false
  }

  /** What the engine of a process, or of all of them, has counted as lost for a binding. */
  counted(binding: string, process?: string): number {
    return this.#counted.get(process === undefined ? binding : `${process} ${binding}`) ?? 0
  }

  /** A binding is taken out of a process: what it had found goes with it, also when it is registered again. */
  takenOut(process: string, binding: string): void {
    this.#counted.delete(`${process} ${binding}`)
  }

  /** Metrics of a process that end up here. */
  metricsOf(process: string): Metrics {
    return {
      ...noopMetrics,
      counter: (name, labels, value) => {
        if (name !== lostCounter) return
        const binding = String(labels['binding'])
        for (const key of [binding, `${process} ${binding}`])
          this.#counted.set(key, (this.#counted.get(key) ?? 0) + value)
      },
    }
  }
}
