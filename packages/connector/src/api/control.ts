/**
 * Carries commands to every process that runs a binding.
 *
 *     operator ─▶ Control.submit ─▶ desired state ─▶ each instance: apply ─▶ one answer each
 *                                        └──▶ an instance that joins later: desired()
 *
 * The desired state is stored per cluster, group and binding, which the processes of a fleet have in common. A local
 * control reaches only its own process, and its answers have the scope INSTANCE; `createFleetControl` reaches all processes
 * that share its log.
 */

import type { OperatorIdentity } from '@waybill/core'
import type { CircuitState } from '@waybill/core/internal'
import type { HealthStatus } from './connector-report.ts'
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

/**
 * A command for one retry tier, that each process applies to itself. The paused tiers are desired beside the state, until the
 * binding is stopped.
 */
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
  /**
   * NO_ANSWER: the process may have applied the command, may apply it yet, or has died. Its `state` is the last that it
   * reported.
   */
  readonly outcome: 'APPLIED' | 'FAILED' | 'NO_ANSWER'
  /** The binding's state after the command; undefined if the process no longer has the binding. */
  readonly state: ContainerState | undefined
  /** The error of a FAILED outcome. */
  readonly error?: Error
  /** The result of a command that moves positions. */
  readonly positions?: readonly PositionReport[]
  /** When a process without an answer was last heard of, by the clock of the process that asked. */
  readonly lastSeenAtMs?: number
}

/** The reach of a command. INSTANCE: only this process applied it, and no other process knows of it. */
export type ControlScope = 'INSTANCE' | 'FLEET'

/** The outcome of a command, with one answer per process. */
export interface ControlAnswer {
  readonly scope: ControlScope
  readonly instances: readonly InstanceAnswer[]
}

/** Records per second. */
export interface BindingRates {
  readonly processed: number
  readonly failed: number
  readonly dead: number
}

/** The calls that a circuit breaker has counted in its present state; while OPEN, those that opened it. */
export interface CircuitFigures {
  readonly calls: number
  /** In percent, as the thresholds of the breaker. */
  readonly failureRate: number
  readonly slowCallRate: number
  /** The time until the next probe, from when the status was taken; undefined unless it is OPEN. */
  readonly nextProbeInMs?: number | undefined
}

/** The oldest record of a retry tier without an outcome. */
export interface TierFigures {
  readonly tier: number
  /** When it is due, epoch milliseconds by the clock of its topic. */
  readonly dueAtMs: number
}

/** The figures of a binding in one process, over the partitions that it owns. */
export interface BindingFigures {
  /** Partitions of the source and the tiers. */
  readonly partitions: number
  /** Records of the source without an outcome; undefined until the ends of its logs are known. */
  readonly lag: bigint | undefined
  /** Records of the retry tiers without an outcome; undefined until the ends of their logs are known. */
  readonly retrying: bigint | undefined
  /** The age of the oldest record of the source without an outcome; 0 if there is none, undefined without a partition. */
  readonly lagSeconds?: number | undefined
  /** Records per second of the last minute; undefined if the metrics of the process have no history. */
  readonly rates?: BindingRates | undefined
  /** Fetched records that wait for a handler. */
  readonly buffered: number
  /** Handlers that run. */
  readonly running: number
  /** Retry and dead letter records that no broker has confirmed. */
  readonly unconfirmed: number
  /** Records held back by `orderingMode: KEY`. */
  readonly waiting: number
  readonly breaker: CircuitState
  /** Undefined if the binding does not run, or its process is of an earlier version. */
  readonly circuit?: CircuitFigures | undefined
  /** The retry tiers that have a record without an outcome; undefined if the process is of an earlier version. */
  readonly tiers?: readonly TierFigures[] | undefined
}

/** The state of a binding, as a process reports it. */
export interface BindingStatus {
  readonly target: ControlTarget
  readonly state: ContainerState
  readonly pausedBy: readonly PauseReason[]
  readonly figures?: BindingFigures
}

/** The state of a binding in one process. */
export interface InstanceStatus extends BindingStatus {
  readonly instance: string
  /** Identifies one run of the process: a restart has another one, and so has a process of the same name. */
  readonly incarnation: string
  /** The version of the service, if its control was given one. */
  readonly version: string | undefined
  /** When the process was last heard of, by the clock of this process. */
  readonly seenAtMs: number
  /** Whether it was heard of lately. The state of one that was not is its last. */
  readonly isAlive: boolean
}

/** A process of a fleet, with or without bindings. */
export interface FleetInstance
  extends Pick<InstanceStatus, 'instance' | 'incarnation' | 'version' | 'seenAtMs' | 'isAlive'> {
  readonly bindings: readonly BindingStatus[]
  /** Undefined if the process does not report it. */
  readonly health?: InstanceHealth | undefined
}

/** The health of a process, as it reports it to the others. */
export interface InstanceHealth {
  readonly status: HealthStatus
  /** At most 20, worst first. */
  readonly reasons: readonly string[]
}

/** A process that accepts commands. */
export interface ControlledInstance {
  readonly name: string
  /** Applies a command. Never rejects: a failure is an answer. */
  apply(request: ControlRequest): Promise<InstanceAnswer>
  /** Establishes a state that was set while this process could not receive commands. */
  obey(target: ControlTarget, state: DesiredState): Promise<void>
  /** Establishes the paused tiers that were set while this process could not receive commands. */
  obeyTiers(target: ControlTarget, pausedTiers: readonly number[]): Promise<void>
  /**
   * Leaves the groups of a paused or stopped binding until {@link back}, and keeps its state. Position commands that are applied
   * meanwhile find it away. Never rejects.
   */
  away(target: ControlTarget): Promise<InstanceAnswer>
  /** Returns to the groups. Never rejects. */
  back(target: ControlTarget): Promise<InstanceAnswer>
  statuses(): readonly BindingStatus[]
  /** Returns its health. @defaultValue it is not reported */
  health?(): InstanceHealth
}

/** Whether a control can be read. */
export interface ControlReach {
  /** Undefined while it can be read. */
  readonly trouble: string | undefined
  /** Whether it was read at least once. Until then, no binding starts. */
  readonly isKnown: boolean
}

/** The port through which operators command all processes that run a binding. */
export interface Control {
  readonly scope: ControlScope
  /** Registers an instance for commands until the result is disposed. A process joins once. */
  join(instance: ControlledInstance): Disposable
  /** Begins to receive commands for the instance that has joined. Called when its connector starts. */
  begin(): void
  /**
   * Submits a command. Resolves when every reachable instance has answered, or has had the time to.
   * @throws ControlUnreachableError if nothing was submitted, CommandUnknownError if that is unknown
   */
  submit(request: ControlRequest): Promise<ControlAnswer>
  /** Returns the state set by the last command; undefined if there was none. Waits until it is known. */
  desired(target: ControlTarget): Promise<DesiredState | undefined>
  /** Returns the tiers that commands paused on their own, in ascending order. Known once {@link desired} has resolved. */
  pausedTiers(target: ControlTarget): readonly number[]
  statuses(): Promise<readonly InstanceStatus[]>
  /** Returns the processes that have joined, also those without a binding. This one is first. */
  instances(): Promise<readonly FleetInstance[]>
  reach(): ControlReach
}
