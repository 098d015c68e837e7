/** The engine events of the connector. */

import type { DeadLetterReason } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'
import type { HealthStatus, RecordLossKind } from './connector-report.ts'
import type { ContainerState } from './container-state.ts'
import type { PauseReason } from './pause-reason.ts'
import type { PositionCommand } from './position-command.ts'

/** A partition of a binding. */
export interface PartitionEvent extends TopicPartition {
  readonly binding: string
}

declare module '@waybill/core' {
  interface EngineEvents {
    /** A binding was started, paused, resumed, stopped or destroyed, by a command or by its breaker. */
    'container:state-changed': {
      readonly binding: string
      readonly cluster: string
      readonly from: ContainerState
      readonly to: ContainerState
      readonly pausedBy: readonly PauseReason[]
    }
    /** A partition was assigned to this process. */
    'partition:assigned': PartitionEvent & { readonly epoch: number }
    /** A partition was drained and released. */
    'partition:revoked': PartitionEvent
    /** A partition was assigned to another member before it was drained. */
    'partition:lost': PartitionEvent
    /** A dead letter was confirmed. Topic and partition are those the record was delivered from. */
    'record:dead-lettered': TopicPartition & {
      readonly binding: string
      readonly offset: bigint
      readonly deadLetterTopic: string
      readonly reason: DeadLetterReason
      readonly exception: string
    }
    /**
     * A copy that an operation wrote was settled. A copy that went to a retry tier is settled again there. Topic, partition and
     * offset are those it was delivered from.
     */
    'replay:settled': TopicPartition & {
      readonly binding: string
      readonly cluster: string
      readonly operation: string
      readonly outcome: 'DONE' | 'SKIP' | 'RETRY' | 'DEAD_LETTER'
      /** True for the first outcome of the copy. */
      readonly isFirst: boolean
      readonly offset: bigint
      readonly originalTopic: string
      readonly originalPartition: number
      readonly originalOffset: bigint
      /** The record that became the dead letter, as the copy claims: to show it, never to decide. Undefined if it claims none. */
      readonly claimedOriginal:
        | { readonly topic: string; readonly partition: number; readonly offset: bigint }
        | undefined
    }
    /** An operator moved the position of a group. */
    'position:moved': TopicPartition & {
      readonly binding: string
      readonly operation: PositionCommand['type']
      readonly from: bigint | null
      readonly to: bigint
      readonly skipped: bigint
      readonly repeated: bigint
      readonly by: string
    }
    /** Records were lost, or are unaccounted for. */
    'loss:found': TopicPartition & { readonly binding: string; readonly kind: RecordLossKind; readonly what: string }
    /** The health of the connector changed. */
    'health:changed': {
      readonly from: HealthStatus
      readonly to: HealthStatus
      readonly reasons: readonly string[]
    }
    /** A figure of a threshold monitor is above a threshold, or no longer. The subject is a binding or a topic. */
    'threshold:changed': {
      readonly figure: string
      readonly subject: Readonly<Record<string, string>>
      readonly value: number
      readonly from: 'HEALTHY' | 'WARNING' | 'CRITICAL'
      readonly to: 'HEALTHY' | 'WARNING' | 'CRITICAL'
      readonly runbook: string
    }
  }
}
