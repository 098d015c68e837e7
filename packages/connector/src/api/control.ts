/**
 * How commands reach every process that runs a binding (D23).
 *
 *     operator ─▶ Control.submit ─▶ desired state ─▶ each instance: apply ─▶ answer of each
 *                                        └──▶ an instance that comes later: desired()
 *
 * What is desired is kept per cluster, group and binding, because that is what the processes of a fleet have in common.
 * A local control knows the own process only, and says so in the scope of its answers; one on a topic or a table reaches
 * all of them.
 */

import type { ContainerState } from './container-state.ts'
import type { PauseReason } from './pause-reason.ts'
import type { PositionCommand, PositionReport } from './position-command.ts'

/** Who asks for a change, and why: no change is made by nobody (I21). */
export interface OperatorIdentity {
  /** As the audit log and what is committed name them: a person, or a program. */
  readonly by: string
  /** @defaultValue none */
  readonly reason?: string
}

/** Which binding: the same one in every process of a fleet. */
export interface ControlTarget {
  readonly cluster: string
  readonly groupId: string
  readonly binding: string
}

/** What every process that has the binding should make of it. */
export type DesiredState = 'RUNNING' | 'PAUSED' | 'STOPPED'

/** What every process does for itself. */
export interface StateCommand {
  readonly type: 'START' | 'STOP' | 'PAUSE' | 'RESUME' | 'DESTROY' | 'UNREGISTER'
  /** For STOP and DESTROY. @defaultValue `shutdownTimeoutMs` of the binding */
  readonly deadlineMs?: number
  /** The command goes to all bindings: one whose state does not allow it passes it over. @defaultValue false */
  readonly isForAll?: boolean
}

/** What can be commanded: something that each process does, or positions of the group, which one process moves for all. */
export type ControlCommand = StateCommand | PositionCommand

/** A command on its way. */
export interface ControlRequest {
  readonly target: ControlTarget
  readonly command: ControlCommand
  readonly operator: OperatorIdentity
}

/** What one process answers. */
export interface InstanceAnswer {
  readonly instance: string
  readonly outcome: 'APPLIED' | 'FAILED'
  /** The binding's state behind it; undefined when the process has no such binding any more. */
  readonly state: ContainerState | undefined
  /** Why it failed. */
  readonly error?: Error
  /** Of a command that moves positions. */
  readonly positions?: readonly PositionReport[]
}

/** INSTANCE: this process alone was reached, and no other one knows of it. */
export type ControlScope = 'INSTANCE' | 'FLEET'

/** What became of a command. */
export interface ControlAnswer {
  readonly scope: ControlScope
  readonly instances: readonly InstanceAnswer[]
}

/** How a binding is in one process. */
export interface InstanceStatus {
  readonly instance: string
  readonly target: ControlTarget
  readonly state: ContainerState
  readonly pausedBy: readonly PauseReason[]
}

/** A process that takes commands. */
export interface ControlledInstance {
  readonly name: string
  /** Never rejects: a failure is an answer too. */
  apply(request: ControlRequest): Promise<InstanceAnswer>
  statuses(): readonly InstanceStatus[]
}

/** See the file's comment. */
export interface Control {
  readonly scope: ControlScope
  /** From now on the instance gets every command; disposing ends that. One process joins once. */
  join(instance: ControlledInstance): Disposable
  /** Resolves when every instance that could be reached has answered. */
  submit(request: ControlRequest): Promise<ControlAnswer>
  /** What was commanded last and still holds; undefined when nobody ever said anything. */
  desired(target: ControlTarget): Promise<DesiredState | undefined>
  statuses(): Promise<readonly InstanceStatus[]>
}
