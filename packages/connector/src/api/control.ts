/**
 * Carries commands to every process that runs a binding.
 *
 *     operator ─▶ Control.submit ─▶ desired state ─▶ each instance: apply ─▶ one answer each
 *                                        └──▶ an instance that joins later: desired()
 *
 * The desired state is stored per cluster, group and binding, which the processes of a fleet have in common. A local
 * control reaches only its own process, and its answers have the scope INSTANCE; one backed by a topic or a table
 * reaches all processes.
 */

import type { OperatorIdentity } from '@waybill/core'
import type { ContainerState } from './container-state.ts'
import type { PauseReason } from './pause-reason.ts'
import type { PositionCommand, PositionReport } from './position-command.ts'

/** A binding across all processes of a fleet. */
export interface ControlTarget {
  readonly cluster: string
  readonly groupId: string
  readonly binding: string
}

/** The state that every process with the binding should establish. */
export type DesiredState = 'RUNNING' | 'PAUSED' | 'STOPPED'

/** A command that each process applies to itself. */
export interface StateCommand {
  readonly type: 'START' | 'STOP' | 'PAUSE' | 'RESUME' | 'DESTROY' | 'UNREGISTER'
  /** The deadline of STOP and DESTROY. @defaultValue `shutdownTimeoutMs` of the binding */
  readonly deadlineMs?: number
  /** Whether the command goes to all bindings; those in an unsuitable state ignore it. @defaultValue false */
  readonly isForAll?: boolean
}

/** A command for one retry tier, that each process applies to itself. It does not affect the desired state. */
export interface TierCommand {
  readonly type: 'PAUSE_TIER' | 'RESUME_TIER'
  /** Counted from 1. */
  readonly tier: number
}

/** A record that failed and stays in its partition, which is paused or blocked for it, or in the waiting topic. */
export interface PausedRecord {
  readonly partition: number
  readonly offset: bigint
  /** @defaultValue 0: the source */
  readonly tier?: number
  /** The source topic, if the binding reads several. @defaultValue the only one */
  readonly topic?: string
}

/** A command for one record. The process that owns its partition applies it; in all others it fails. */
export interface RecordCommand {
  readonly type: 'SEND_TO_DLT'
  readonly record: PausedRecord
}

/** A command: either each process applies it, or one process moves the group's positions for all. */
export type ControlCommand = StateCommand | TierCommand | RecordCommand | PositionCommand

/** A submitted command, with its target and operator. */
export interface ControlRequest {
  readonly target: ControlTarget
  readonly command: ControlCommand
  readonly operator: OperatorIdentity
}

/** The answer of one process. */
export interface InstanceAnswer {
  readonly instance: string
  readonly outcome: 'APPLIED' | 'FAILED'
  /** The binding's state after the command; undefined if the process no longer has the binding. */
  readonly state: ContainerState | undefined
  /** The error of a FAILED outcome. */
  readonly error?: Error
  /** The result of a command that moves positions. */
  readonly positions?: readonly PositionReport[]
}

/** The reach of a command. INSTANCE: only this process applied it, and no other process knows of it. */
export type ControlScope = 'INSTANCE' | 'FLEET'

/** The outcome of a command, with one answer per process. */
export interface ControlAnswer {
  readonly scope: ControlScope
  readonly instances: readonly InstanceAnswer[]
}

/** The state of a binding in one process. */
export interface InstanceStatus {
  readonly instance: string
  readonly target: ControlTarget
  readonly state: ContainerState
  readonly pausedBy: readonly PauseReason[]
}

/** A process that accepts commands. */
export interface ControlledInstance {
  readonly name: string
  /** Applies a command. Never rejects: a failure is an answer. */
  apply(request: ControlRequest): Promise<InstanceAnswer>
  statuses(): readonly InstanceStatus[]
}

/** The port through which operators command all processes that run a binding. */
export interface Control {
  readonly scope: ControlScope
  /** Registers an instance for commands until the result is disposed. A process joins once. */
  join(instance: ControlledInstance): Disposable
  /** Submits a command. Resolves when every reachable instance has answered. */
  submit(request: ControlRequest): Promise<ControlAnswer>
  /** Returns the state set by the last command; undefined if there was none. */
  desired(target: ControlTarget): Promise<DesiredState | undefined>
  statuses(): Promise<readonly InstanceStatus[]>
}
