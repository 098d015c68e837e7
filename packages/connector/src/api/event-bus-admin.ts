/**
 * What operators do with a connector, whether they come by program, REST, console or command line (S0-180…187).
 *
 * A name is that of a binding, or `{cluster}:{name}`. Whatever changes something takes who asks for it, is written into the
 * audit log before and after, and goes through the connector's {@link Control}: the answer says whom it has reached. A
 * command that no instance could follow rejects with that instance's error.
 */

import type { StopOptions } from '@waybill/core'
import type { BindingView } from './binding-view.ts'
import type { ControlAnswer, ControlScope, InstanceStatus, OperatorIdentity } from './control.ts'
import type { DeadLetterAdmin } from './dead-letter-admin.ts'
import type { PositionReport, ResetPosition, SeekPosition, SkipPosition } from './position-command.ts'

/** A binding as data: its name, and what `bindingFromConfig` reads. Code is named: see `code` of the connector. */
export interface BindingProperties {
  readonly name: string
  /** @defaultValue `name` */
  readonly handler?: string
  readonly [option: string]: unknown
}

/** Where positions went, and whom that has reached: a group's positions are those of every process. */
export interface PositionAnswer extends ControlAnswer {
  readonly positions: readonly PositionReport[]
}

/** See the file's comment. */
export interface EventBusAdmin extends DeadLetterAdmin {
  /** INSTANCE: this process alone. */
  readonly scope: ControlScope
  /** Adds a binding to this process, and starts it when the connector runs (C-13). */
  register(binding: BindingProperties, operator: OperatorIdentity): Promise<ControlAnswer>
  /** Stops and removes it; its members leave their groups. */
  destroy(binding: string, operator: OperatorIdentity, options?: StopOptions): Promise<ControlAnswer>
  start(binding: string, operator: OperatorIdentity): Promise<ControlAnswer>
  stop(binding: string, operator: OperatorIdentity, options?: StopOptions): Promise<ControlAnswer>
  pause(binding: string, operator: OperatorIdentity): Promise<ControlAnswer>
  resume(binding: string, operator: OperatorIdentity): Promise<ControlAnswer>
  bindings(): readonly BindingView[]
  /** @throws BindingNotFoundError */
  binding(name: string): BindingView
  /** Of every instance that the control knows. */
  statuses(): Promise<readonly InstanceStatus[]>
  /** Goes to an offset or a time, or to an end of the log. Of a binding that is paused, stopped, or was never started. */
  seek(binding: string, seek: SeekPosition, operator: OperatorIdentity): Promise<PositionAnswer>
  /** Passes over single records. Of a binding that is paused or stopped. */
  skip(binding: string, skip: SkipPosition, operator: OperatorIdentity): Promise<PositionAnswer>
  /** Begins anew. Of a binding that is paused, stopped, or was never started. */
  reset(binding: string, reset: ResetPosition, operator: OperatorIdentity): Promise<PositionAnswer>
}
