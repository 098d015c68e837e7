import type { Clock } from '@waybill/core'
import { AdminBusyError } from '../problem/admin-errors.ts'

/** Requests per second, and how many may come at once. */
export interface RequestRate {
  readonly perSecond: number
  readonly burst: number
}

export const readRate: RequestRate = { perSecond: 50, burst: 100 }
export const changeRate: RequestRate = { perSecond: 5, burst: 20 }

/** Identities that are counted: the least recent are forgotten, and then have their full burst. */
const maxIdentities = 10_000

interface Bucket {
  tokens: number
  atMs: number
}

/** Limits the requests of each identity. */
export class RateLimit {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #rate: RequestRate
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Pick<Clock, 'monotonic'>, rate: RequestRate) {
    this.#clock = clock
    this.#rate = rate
  }

  /** Counts a request. @throws AdminBusyError if there were too many */
  take(identity: string): void {
    const now = this.#clock.monotonic()
    const { perSecond, burst } = this.#rate
    const bucket = this.#buckets.get(identity) ?? { tokens: burst, atMs: now }
    const tokens = Math.min(burst, bucket.tokens + ((now - bucket.atMs) / 1_000) * perSecond)
    this.#buckets.delete(identity)
    this.#buckets.set(identity, { tokens: tokens < 1 ? tokens : tokens - 1, atMs: now })
    if (this.#buckets.size > maxIdentities) this.#buckets.delete(this.#buckets.keys().next().value as string)
    if (tokens >= 1) return
    const seconds = Math.max(1, Math.ceil((1 - tokens) / perSecond))
    throw new AdminBusyError(`More than ${perSecond} requests per second.`, 429, seconds)
  }
}
