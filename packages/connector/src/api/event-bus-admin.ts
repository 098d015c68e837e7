/**
 * Operator commands of a connector, shared by programs, REST, console and command line.
 *
 * Commands take the name of a binding, or `{cluster}:{name}`. Every change, and every read of a dead letter, requires
 * an operator with a permission. A change is written to the audit log before and after, and goes through the connector's
 * {@link Control}; the answer lists the processes it reached. A command that no process could apply rejects
 * with the error of that process.
 */

import type { Buffer } from 'node:buffer'
import type { OperatorIdentity, StopOptions } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'
import type { BindingDetail, BindingView, KeyState } from './binding-view.ts'
import type { ControlAnswer, ControlScope, FleetInstance, InstanceStatus, PausedRecord } from './control.ts'
import type { DeadLetterAdmin } from './dead-letter-admin.ts'
import type { PositionReport, ResetPosition, SeekPosition, SkipPosition } from './position-command.ts'

/**
 * A binding as data: its name, and the options that `bindingFromConfig` accepts. Code is referred to by name: see
 * `code` of the connector.
 */
export interface BindingProperties {
  readonly name: string
  /** @defaultValue `name` */
  readonly handler?: string
  readonly [option: string]: unknown
}

/** The answer to a position command, with the new positions. They apply to every process of the group. */
export interface PositionAnswer extends ControlAnswer {
  readonly positions: readonly PositionReport[]
}

/** Audited operator commands of a connector. */
export interface EventBusAdmin extends DeadLetterAdmin {
  /** The reach of commands. INSTANCE: this process only. */
  readonly scope: ControlScope
  /** Adds a binding to this process, and starts it if the connector runs. */
  register(binding: BindingProperties, operator: OperatorIdentity): Promise<ControlAnswer>
  /** Stops and removes a binding; its members leave their groups. */
  destroy(binding: string, operator: OperatorIdentity, options?: StopOptions): Promise<ControlAnswer>
  start(binding: string, operator: OperatorIdentity): Promise<ControlAnswer>
  stop(binding: string, operator: OperatorIdentity, options?: StopOptions): Promise<ControlAnswer>
  pause(binding: string, operator: OperatorIdentity): Promise<ControlAnswer>
  resume(binding: string, operator: OperatorIdentity): Promise<ControlAnswer>
  /**
   * Pauses one retry tier, counted from 1, until `resumeTier` or a stop of the binding. Its records wait in their topic,
   * and the source and the other tiers continue. A resume of the binding does not end it.
   * @throws ArgumentError for a tier that does not exist, or with `orderingMode: KEY`
   */
  pauseTier(binding: string, tier: number, operator: OperatorIdentity): Promise<ControlAnswer>
  resumeTier(binding: string, tier: number, operator: OperatorIdentity): Promise<ControlAnswer>
  /**
   * Makes a record that failed and blocks its partition a dead letter with the reason MANUAL: with STRICT and
   * PAUSE_PARTITION, with BLOCKING_UNLIMITED, or after PAUSE_CONTAINER. It is written without another call, before later
   * records of its lane, and the partition continues; while the binding is paused, after its resume. The mark is not
   * stored: if the partition moves before, the record is delivered again.
   * @throws ArgumentError if no such record waits in this process
   */
  sendToDlt(binding: string, record: PausedRecord, operator: OperatorIdentity): Promise<ControlAnswer>
  bindings(): readonly BindingView[]
  /** Returns a binding with the options in effect and its lag. @throws BindingNotFoundError */
  binding(name: string): BindingDetail
  /**
   * Returns the state of a key; undefined without `orderingMode: KEY`, and while this process does not read its partition.
   * @throws BindingNotFoundError
   */
  keyState(binding: string, at: TopicPartition & { readonly key: Buffer }): KeyState | undefined
  /** Returns the bindings that read a topic; tiers and dead letter topics do not count. */
  getByTopic(topic: string): readonly BindingView[]
  /** Returns the state of all bindings in every instance that the control knows. */
  statuses(): Promise<readonly InstanceStatus[]>
  /** Returns the processes that the control knows, also those without a binding. */
  instances(): Promise<readonly FleetInstance[]>
  /** Moves to an offset, a time, or an end of the log. Requires a binding that is paused, stopped or not started. */
  seek(binding: string, seek: SeekPosition, operator: OperatorIdentity): Promise<PositionAnswer>
  /** Skips single records. Requires a binding that is paused or stopped. */
  skip(binding: string, skip: SkipPosition, operator: OperatorIdentity): Promise<PositionAnswer>
  /** Resets positions and counters. Requires a binding that is paused, stopped or not started. */
  reset(binding: string, reset: ResetPosition, operator: OperatorIdentity): Promise<PositionAnswer>
}
