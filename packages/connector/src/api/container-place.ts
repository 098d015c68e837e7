import type { TopicKind } from '@waybill/core/internal'

/** Which topic a container reads, and as what. */
export interface ContainerPlace {
  /** `eventbus-{binding}` or `eventbus-{binding}-retry-{n}` (S0-062). */
  readonly name: string
  readonly topic: string
  readonly groupId: string
  readonly kind: Extract<TopicKind, 'SOURCE' | 'TIER'>
  /** 0 on the source. */
  readonly tier: number
  readonly delayMs: number
  /** Group members in this process. */
  readonly concurrency: number
}
