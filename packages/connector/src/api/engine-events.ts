/** What the connector says on the engine's channels, beside what core says. */

import type { DeadLetterReason } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'
import type { HealthStatus, RecordLossKind } from './connector-report.ts'
import type { ContainerState } from './container-state.ts'
import type { PauseReason } from './pause-reason.ts'
import type { PositionCommand } from './position-command.ts'

/** Which partition of which binding. */
export interface PartitionEvent extends TopicPartition {
  readonly binding: string
}

declare module '@waybill/core' {
  interface EngineEvents {
    /** A binding was started, paused, resumed, stopped or destroyed, by command or by its breaker. */
    'container:state-changed': {
      readonly binding: string
      readonly cluster: string
      readonly from: ContainerState
      readonly to: ContainerState
      readonly pausedBy: readonly PauseReason[]
    }
    /** A partition is owned here and its records run. */
    'partition:assigned': PartitionEvent & { readonly epoch: number }
    /** A partition was drained and given back. */
    'partition:revoked': PartitionEvent
    /** A partition went to somebody else before it could be drained. */
    'partition:lost': PartitionEvent
    /** A dead letter is confirmed. The place is the one it was delivered from. */
    'record:dead-lettered': TopicPartition & {
      readonly binding: string
      readonly offset: bigint
      readonly deadLetterTopic: string
      readonly reason: DeadLetterReason
      readonly exception: string
    }
    /** An operator moved what a group reads next. */
    'position:moved': TopicPartition & {
      readonly binding: string
      readonly operation: PositionCommand['type']
      readonly from: bigint | null
      readonly to: bigint
      readonly skipped: bigint
      readonly repeated: bigint
      readonly by: string
    }
    /** Records vanished, or nobody can say what became of them. */
    'loss:found': TopicPartition & { readonly binding: string; readonly kind: RecordLossKind; readonly what: string }
    /** The connector's health is another one than before. */
    'health:changed': {
      readonly from: HealthStatus
      readonly to: HealthStatus
      readonly reasons: readonly string[]
    }
  }
}
