import type { CircuitState } from '@waybill/core'
import type { ContainerStatus } from './container/container.ts'
import type { ContainerState } from './container-state.ts'
import type { PauseReason } from './pause-reason.ts'

/** A binding as operators see it. */
export interface BindingView {
  readonly name: string
  readonly cluster: string
  /** As it was written: a topic, `[a, b]` for several, `/^a/` for an expression. */
  readonly topic: string
  /** Those it reads. */
  readonly topics: readonly string[]
  readonly groupId: string
  readonly state: ContainerState
  readonly pausedBy: readonly PauseReason[]
  readonly breaker: CircuitState
  /** Of the source and of each tier; empty while it does not run. */
  readonly containers: readonly ContainerStatus[]
}
