/**
 * Finds partitions that make no progress although nothing keeps them from it on purpose (L4). A member that sends its
 * heartbeats and does nothing looks healthy to Kafka: no rebalance comes, and only the lag grows.
 */

import type { TopicPartition } from '@waybill/kafka'
import type { PartitionStatus } from '../api/binding-view.ts'
import type { ContainerPlace } from '../api/container-place.ts'
import type { PauseReason } from '../api/pause-reason.ts'

/** One partition as it is seen at one moment. */
export interface PartitionSight {
  readonly binding: string
  readonly kind: ContainerPlace['kind']
  readonly status: PartitionStatus
  /** Next offset that will be written, as far as known. */
  readonly end: bigint | undefined
}

/** A partition that stands still. Times are monotonic. */
export interface Stall extends TopicPartition {
  readonly binding: string
  /** NO_PROGRESS: the watermark does not move. LONG_CALL: one handler runs all the time. */
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

/** Remembers since when each partition stands where it stands. */
export class StallWatch {
  readonly #stallAfterMs: number
  #standing: ReadonlyMap<string, Standing> = new Map()

  constructor(stallAfterMs: number) {
    this.#stallAfterMs = stallAfterMs
  }

  /** Looks at all partitions that are owned now, and answers those that stand still. */
  look(sights: readonly PartitionSight[], nowMs: number): readonly Stall[] {
    const standing = new Map<string, Standing>()
    const stalls = sights.flatMap((sight) => {
      const key = JSON.stringify([sight.binding, sight.status.topic, sight.status.partition])
      const now = this.#standingOf(sight, this.#standing.get(key), nowMs)
      standing.set(key, now)
      return this.#judge(sight, now, nowMs)
    })
    this.#standing = standing
    return stalls
  }

  #standingOf(sight: PartitionSight, before: Standing | undefined, nowMs: number): Standing {
    const { epoch, watermark } = sight.status
    const hasStood = before !== undefined && before.epoch === epoch && before.watermark === watermark
    return hasStood && hasWork(sight) && !isPausedOnPurpose(sight) ? before : { epoch, watermark, sinceMs: nowMs }
  }

  #judge({ binding, status }: PartitionSight, { sinceMs }: Standing, nowMs: number): readonly Stall[] {
    const { topic, partition, watermark, runningSince } = status
    const stall = { binding, topic, partition, watermark }
    if (runningSince !== undefined && nowMs - runningSince > this.#stallAfterMs)
      return [{ ...stall, cause: 'LONG_CALL', sinceMs: runningSince }]
    return nowMs - sinceMs > this.#stallAfterMs ? [{ ...stall, cause: 'NO_PROGRESS', sinceMs }] : []
  }
}

function hasWork({ status, end }: PartitionSight): boolean {
  const isHolding = status.buffered + status.running + status.unconfirmed > 0
  return isHolding || (end !== undefined && status.watermark < end)
}

/**
 * DELAY is a tier's purpose. On the source it is a record that fails again and again and holds up all behind it, which is
 * what somebody has to be told.
 */
function isPausedOnPurpose({ kind, status }: PartitionSight): boolean {
  return status.pausedBy.some((reason) => alwaysOnPurpose.includes(reason) || (reason === 'DELAY' && kind === 'TIER'))
}
