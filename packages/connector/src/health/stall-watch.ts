/**
 * Finds partitions that make no progress although they are not paused on purpose (L4). A member that sends heartbeats
 * and does nothing looks healthy to Kafka: it triggers no rebalance, and only the lag grows.
 */

import type { TopicPartition } from '@waybill/kafka'
import type { PartitionStatus } from '../api/binding-view.ts'
import type { ContainerPlace } from '../api/container-place.ts'
import type { PauseReason } from '../api/pause-reason.ts'

/** The state of a partition at one moment. */
export interface PartitionSnapshot {
  readonly binding: string
  readonly kind: ContainerPlace['kind']
  readonly status: PartitionStatus
  /** The end offset, if known. */
  readonly end: bigint | undefined
}

/** A stalled partition. Times are monotonic. */
export interface Stall extends TopicPartition {
  readonly binding: string
  /** NO_PROGRESS: the watermark does not move. LONG_CALL: one handler call does not finish. */
  readonly cause: 'NO_PROGRESS' | 'LONG_CALL'
  readonly sinceMs: number
  readonly watermark: bigint
}

interface Standing {
  readonly epoch: number
  readonly watermark: bigint
  readonly sinceMs: number
}

const alwaysOnPurpose: readonly PauseReason[] = ['OPERATOR', 'BREAKER', 'EXHAUSTED', 'WAITING_FULL', 'SHUTDOWN']

/** Remembers since when each partition's watermark has not moved. */
export class StallWatch {
  readonly #stallAfterMs: number
  #standing: ReadonlyMap<string, Standing> = new Map()

  constructor(stallAfterMs: number) {
    this.#stallAfterMs = stallAfterMs
  }

  /** Checks all owned partitions, and returns the stalled ones. */
  check(snapshots: readonly PartitionSnapshot[], nowMs: number): readonly Stall[] {
    const standing = new Map<string, Standing>()
    const stalls = snapshots.flatMap((snapshot) => {
      const key = JSON.stringify([snapshot.binding, snapshot.status.topic, snapshot.status.partition])
      const now = this.#standingOf(snapshot, this.#standing.get(key), nowMs)
      standing.set(key, now)
      return this.#judge(snapshot, now, nowMs)
    })
    this.#standing = standing
    return stalls
  }

  #standingOf(snapshot: PartitionSnapshot, before: Standing | undefined, nowMs: number): Standing {
    const { epoch, watermark } = snapshot.status
    const hasStood = before !== undefined && before.epoch === epoch && before.watermark === watermark
    return hasStood && hasWork(snapshot) && !isPausedOnPurpose(snapshot) ? before : { epoch, watermark, sinceMs: nowMs }
  }

  #judge({ binding, status }: PartitionSnapshot, { sinceMs }: Standing, nowMs: number): readonly Stall[] {
    const { topic, partition, watermark, runningSince } = status
    const stall = { binding, topic, partition, watermark }
    if (runningSince !== undefined && nowMs - runningSince > this.#stallAfterMs)
      return [{ ...stall, cause: 'LONG_CALL', sinceMs: runningSince }]
    return nowMs - sinceMs > this.#stallAfterMs ? [{ ...stall, cause: 'NO_PROGRESS', sinceMs }] : []
  }
}

function hasWork({ status, end }: PartitionSnapshot): boolean {
  const isHolding = status.buffered + status.running + status.unconfirmed > 0
  return isHolding || (end !== undefined && status.watermark < end)
}

/**
 * Returns whether a pause is intended. DELAY is in a tier; in a source it means a record that blocks those after it.
 */
function isPausedOnPurpose({ kind, status }: PartitionSnapshot): boolean {
  return status.pausedBy.some((reason) => alwaysOnPurpose.includes(reason) || (reason === 'DELAY' && kind === 'TIER'))
}
