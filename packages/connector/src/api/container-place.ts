import type { TopicKind } from '@waybill/core/internal'

/** The topic that a container reads, and its role. */
export interface ContainerPlace {
  /** `eventbus-{binding}` or `eventbus-{binding}-retry-{n}`. */
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
