/** The connector: the bindings of a process, started and stopped together or individually. */

import type { AdministrationOptions, OperatorIdentity, Runtime, Service, StopOptions } from '@waybill/core'
import type { KafkaClient, TopicPartition } from '@waybill/kafka'
import type { AdminOperation } from './admin-operation.ts'
import type { Binding } from './binding.ts'
import type { BindingView } from './binding-view.ts'
import type { ConfigCode } from './config-code.ts'
import type { AuditRow, ConnectorHealth, RecordLoss } from './connector-report.ts'
import type { ContainerState } from './container-state.ts'
import type { Control } from './control.ts'
import type { EventBusAdmin } from './event-bus-admin.ts'

/**
 * The handling of missing derived topics: CREATE them, VERIFY that they exist, or ASSUME so without a request. Source
 * topics are never created.
 */
export type DerivedTopicsMode = 'CREATE' | 'VERIFY' | 'ASSUME'

/** Options of `createConnector`. */
export interface ConnectorOptions {
  /** The clusters that bindings refer to. The caller owns and closes them. */
  readonly clusters: Readonly<Record<string, KafkaClient>>
  /** @defaultValue none */
  readonly bindings?: Readonly<Record<string, Binding>>
  /** The handling of missing tier, waiting and dead letter topics. @defaultValue 'CREATE' */
  readonly derivedTopics?: DerivedTopicsMode
  /** The name of this process in static member ids and in answers to commands. @defaultValue the host name */
  readonly instance?: string
  /** Handlers and other code for bindings registered as data: see `admin.register`. @defaultValue none */
  readonly code?: ConfigCode
  /** The control that carries commands to the processes of a binding. @defaultValue this process only */
  readonly control?: Control
  /**
   * Permissions and audit log of operators.
   * @defaultValue only the program itself, `applicationOperator()`; lines on standard error, whatever the log level
   */
  readonly administration?: AdministrationOptions<AdminOperation>
  /** The time without progress after which a partition turns health DOWN. @defaultValue 300,000 */
  readonly stallAfterMs?: number
  /** @defaultValue the system runtime, which logs one line per entry to standard error */
  readonly runtime?: Runtime
}

/**
 * Runs bindings. Commands take the name of a binding, or `{cluster}:{name}` if several clusters have that name.
 * Commands on one binding run one after another; commands on different bindings never wait for each other. A command
 * that the state does not allow rejects with InvalidContainerStateError, one for an unknown binding with
 * BindingNotFoundError.
 */
export interface Connector extends Service {
  /** Audited commands for operators, including dead letters and positions. */
  readonly admin: EventBusAdmin
  /**
   * Adds a binding, and starts it if the connector is started. If that start fails, the binding is not added.
   * @throws OptionsError, BindingAlreadyExistsError, ConnectorClosedError
   */
  register(name: string, binding: Binding): Promise<void>
  /** Starts all bindings, or none if one fails. With a name, starts that binding from CREATED or STOPPED. */
  start(name?: string): Promise<void>
  /**
   * Drains, commits and leaves the groups; a stopped connector cannot be restarted. With a name, stops that binding,
   * which can be started again. Rejects with StopDeadlineError if handlers still run at the deadline: `deadlineMs`, by
   * default slightly more than the longest `shutdownTimeoutMs` of the bindings.
   */
  stop(options?: StopOptions): Promise<void>
  stop(name: string, options?: StopOptions): Promise<void>
  /** Stops fetching without leaving the groups. Without a name, pauses all running bindings. */
  pause(name?: string): Promise<void>
  /**
   * Ends an operator's pause, and retries records that wait for an operator. An open breaker keeps its pause. Without a
   * name, resumes all paused bindings.
   */
  resume(name?: string): Promise<void>
  /** Stops and removes a binding; its members leave their groups, static ones too. */
  destroy(name: string, options?: StopOptions): Promise<void>
  /** Removes a binding that is not running. A static member stays in the group until its session times out. */
  unregister(name: string): Promise<void>
  getState(name: string): ContainerState
  listBindings(): readonly BindingView[]
  /** Returns the health and its reasons. */
  health(): ConnectorHealth
  /** Returns false if only a restart of the process can help. Never depends on a broker. */
  live(): boolean
  /** Returns true while the connector runs and is not DOWN. */
  ready(): boolean
  /** Returns true once start() has succeeded. */
  startup(): boolean
  /**
   * Returns the outcomes of all records since counting began, read from the committed offsets of the groups. Until
   * acknowledged, unaccounted records turn health DEGRADED, and lost records DOWN. Rejects if a cluster does not
   * respond.
   */
  audit(): Promise<readonly AuditRow[]>
  /**
   * Acknowledges lost and unaccounted records, so that they no longer affect health. Returns the acknowledged ones. It is in
   * the audit log, as every change of an operator.
   */
  acknowledgeLoss(name: string, operator: OperatorIdentity, partition?: TopicPartition): Promise<readonly RecordLoss[]>
}
