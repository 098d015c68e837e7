/** The connector: all bindings of a process, started and stopped as one, and each on its own. */

import type { Runtime, Service, StopOptions } from '@waybill/core'
import type { KafkaClient, TopicPartition } from '@waybill/kafka'
import type { AdministrationOptions } from './audit-log.ts'
import type { Binding } from './binding.ts'
import type { BindingView } from './binding-view.ts'
import type { ConfigCode } from './config-code.ts'
import type { AuditRow, ConnectorHealth, RecordLoss } from './connector-report.ts'
import type { ContainerState } from './container-state.ts'
import type { Control } from './control.ts'
import type { EventBusAdmin } from './event-bus-admin.ts'

/** CREATE what is missing, VERIFY that nothing is, or ASSUME it without a look. The source is never created. */
export type DerivedTopicsMode = 'CREATE' | 'VERIFY' | 'ASSUME'

/** Options of `createConnector`. */
export interface ConnectorOptions {
  /** The clusters that bindings name; they stay the caller's to close. */
  readonly clusters: Readonly<Record<string, KafkaClient>>
  /** @defaultValue none */
  readonly bindings?: Readonly<Record<string, Binding>>
  /** What is done about missing tier, waiting and dead letter topics. @defaultValue 'CREATE' */
  readonly derivedTopics?: DerivedTopicsMode
  /** What this process is called in static member ids and in answers to commands. @defaultValue the host's name */
  readonly instance?: string
  /** Handlers and other code that bindings which come as data can name: see `admin.register`. @defaultValue none */
  readonly code?: ConfigCode
  /** How commands reach the processes that run a binding. @defaultValue this process alone */
  readonly control?: Control
  /** Who may change what by `admin`, and where that is written down. @defaultValue everybody; lines of the log */
  readonly administration?: AdministrationOptions
  /** Without progress for this long a partition turns health DOWN. @defaultValue 300,000 */
  readonly stallAfterMs?: number
  /** @defaultValue the system's, with a log of one line of text each on standard error */
  readonly runtime?: Runtime
}

/**
 * Runs bindings. A name is that of a binding, or `{cluster}:{name}` where several clusters have it. Commands on one
 * binding run one after another, those on different ones never wait for each other. A command that the state does not
 * allow rejects with InvalidContainerStateError, one for an unknown binding with BindingNotFoundError.
 */
export interface Connector extends Service {
  /** The same and more for operators: audited, with dead letters and positions. */
  readonly admin: EventBusAdmin
  /**
   * Adds a binding, and starts it when the connector has been started. When the start fails, nothing is added.
   * @throws OptionsError, BindingAlreadyExistsError, ConnectorClosedError
   */
  register(name: string, binding: Binding): Promise<void>
  /** Starts all bindings, or none if one fails; with a name that one: from CREATED or STOPPED. */
  start(name?: string): Promise<void>
  /**
   * Drains, commits and leaves the groups; the connector is then at its end. With a name that binding, which can be
   * started again. Rejects with StopDeadlineError when handlers still run at the deadline, which is the longest
   * `shutdownTimeoutMs` of its bindings and a little more, unless `deadlineMs` says another.
   */
  stop(options?: StopOptions): Promise<void>
  stop(name: string, options?: StopOptions): Promise<void>
  /** Stops fetching and keeps the places in the groups. Without a name: all that run. */
  pause(name?: string): Promise<void>
  /**
   * Ends an operator's pause, and tries again what waits for an operator. An open breaker still pauses. Without a name:
   * all that are paused.
   */
  resume(name?: string): Promise<void>
  /** Stops and removes a binding; its members leave their groups, static ones too. */
  destroy(name: string, options?: StopOptions): Promise<void>
  /** Removes a binding that does not run; a static member keeps its place in the group until its session ends. */
  unregister(name: string): Promise<void>
  getState(name: string): ContainerState
  listBindings(): readonly BindingView[]
  /** How it is, and why. */
  health(): ConnectorHealth
  /** True unless only another process could help. Never depends on a broker. */
  live(): boolean
  /** True while it runs and is not DOWN. */
  ready(): boolean
  /** True once start() has succeeded. */
  startup(): boolean
  /**
   * What became of every record since counting began, read from what the groups have committed. What cannot be accounted
   * for turns health DEGRADED, what is missing DOWN, until it is acknowledged. Rejects when a cluster does not answer.
   */
  audit(): Promise<readonly AuditRow[]>
  /** Somebody has read that records were lost or cannot be accounted for; answers what is now acknowledged. */
  acknowledgeLoss(name: string, partition?: TopicPartition): readonly RecordLoss[]
}
