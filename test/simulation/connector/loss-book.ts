/** Tracks the records deleted by retention, the losses reported by consumers, and those counted by the engine. */

import { type Metrics } from '@waybill/core'
import { noopMetrics } from '@waybill/core/internal'
import type { PositionLoss } from '@waybill/kafka/internal'

/** Offsets reported to a group as lost. */
interface LostRange {
  readonly from: bigint
  readonly to: bigint
}

/** The documented name of the counter. */
const lostCounter = 'eventbus.records.lost'

/** See the file's comment. */
export class LossBook {
  readonly #reported = new Map<string, LostRange[]>()
  readonly #starts = new Map<string, bigint>()
  /** By binding, and by process and binding. */
  readonly #counted = new Map<string, number>()

  /** Records that retention is about to delete everything below an offset. */
  deleted(topic: string, partition: number, before: bigint): void {
    const name = `${topic}-${partition}`
    if (before > this.startOf(topic, partition)) this.#starts.set(name, before)
  }

  /** Returns the current start of a log. */
  startOf(topic: string, partition: number): bigint {
    return this.#starts.get(`${topic}-${partition}`) ?? 0n
  }

  /** Records that a consumer continues at another position than expected. */
  reported(groupId: string, { topic, partition, expected, continuesAt }: PositionLoss): void {
    const name = `${groupId} ${topic}-${partition}`
    const range = { from: expected ?? 0n, to: continuesAt ?? 0n }
    this.#reported.set(name, [...(this.#reported.get(name) ?? []), range])
  }

  /** Returns true when the loss of this offset was reported to the group. */
  isReported(groupId: string, topic: string, partition: number, offset: bigint): boolean {
    const ranges = this.#reported.get(`${groupId} ${topic}-${partition}`) ?? []
    return ranges.some(({ from, to }) => offset >= from && offset < to)
  }

  /** Returns true when the group had to continue here. */
  continuesAt(groupId: string, topic: string, partition: number, offset: bigint): boolean {
    return this.#reported.get(`${groupId} ${topic}-${partition}`)?.some(({ to }) => to === offset) ?? false
  }

  /** Returns the losses that the engine of one process, or of all, has counted for a binding. */
  counted(binding: string, process?: string): number {
    return this.#counted.get(process === undefined ? binding : `${process} ${binding}`) ?? 0
  }

  /** Forgets the losses of a binding that is removed from a process, even if it is registered again. */
  takenOut(process: string, binding: string): void {
    this.#counted.delete(`${process} ${binding}`)
  }

  /** Returns metrics for a process that are recorded here. */
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
