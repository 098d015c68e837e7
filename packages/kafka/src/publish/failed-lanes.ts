import { KafkaError } from '../client/cluster/kafka-error.ts'
import { faultOf } from './send-faults.ts'

interface FailedLane {
  readonly error: unknown
  /** Time for the next send. */
  readonly timeoutMs: number
}

const firstTimeoutMs = 2_000
/** More than a request takes, so that a slow leader is reached. */
const longestTimeoutMs = 8_000

/** The reason to cancel a send that has used up its time. */
export const cutShort: KafkaError = new KafkaError('The send to a failed partition was cut short.', 'RETRIABLE')

/** Returns whether a send failed because its time was used up. */
export function wasCutShort(error: unknown): boolean {
  for (let link = error; link instanceof KafkaError; link = link.cause) if (link === cutShort) return true
  return false
}

/**
 * The lanes, such as partitions, whose last send failed. Their next sends get less time than a whole delivery: each
 * holds a worker of the outbox, and in a transaction everything that is published.
 */
export class FailedLanes {
  readonly #lanes: Map<string, FailedLane> = new Map()

  get isEmpty(): boolean {
    return this.#lanes.size === 0
  }

  has(lane: string): boolean {
    return this.#lanes.has(lane)
  }

  /** Returns the time for the next send; undefined for a lane that has not failed. */
  timeoutMs(lane: string): number | undefined {
    return this.#lanes.get(lane)?.timeoutMs
  }

  /** Records a failure. Returns its error: that of the last complete send, if this one was cut short. */
  failed(lane: string, thrown: unknown): unknown {
    const before = this.#lanes.get(lane)
    const error = wasCutShort(thrown) ? (before?.error ?? thrown) : thrown
    const fault = faultOf(error)
    // A cluster has one probe for everything, which may take all its time.
    if (fault !== 'PARTITION' && fault !== 'TOPIC') return error
    const timeoutMs = before === undefined ? firstTimeoutMs : Math.min(before.timeoutMs * 2, longestTimeoutMs)
    this.#lanes.set(lane, { error, timeoutMs })
    return error
  }

  reached(lane: string): void {
    this.#lanes.delete(lane)
  }
}
