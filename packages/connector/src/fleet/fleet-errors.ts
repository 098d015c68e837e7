import { WaybillError } from '@waybill/core'

/** The log of the fleet cannot be read, so a command was not submitted. */
export class ControlUnreachableError extends WaybillError {
  static override readonly code = 'WAYBILL_CONTROL_UNREACHABLE'

  constructor(trouble: string, cause?: unknown) {
    super(`The control of the fleet cannot be read: ${trouble}.`, {
      cause,
      impact: 'Nothing was submitted.',
      hint: 'Check the store of the log. Instances keep the state that they have.',
    })
  }
}

/** The log of the fleet did not confirm a command: it may be applied, now or later. */
export class CommandUnknownError extends WaybillError {
  static override readonly code = 'WAYBILL_COMMAND_UNKNOWN'

  constructor(command: string, binding: string, cause?: unknown) {
    super(`It is unknown whether ${command} of binding '${binding}' was submitted.`, {
      cause,
      impact: 'Instances may apply it, now or later.',
      hint: 'Read the states of the instances, then repeat the command if they did not follow.',
    })
  }
}

/** An instance did not leave the groups of a binding, so that their positions were not moved. */
export class InstanceNotAwayError extends WaybillError {
  static override readonly code = 'WAYBILL_INSTANCE_NOT_AWAY'
  /** The instances that did not answer, or failed. */
  readonly instances: readonly string[]

  constructor(binding: string, instances: readonly string[], cause?: unknown) {
    super(`Positions of binding '${binding}' were not moved: ${instances.join(', ')} did not leave its groups.`, {
      cause,
      impact: 'No position was moved, and the other instances have returned.',
      hint: 'Wait until the instance answers, or end its process. Then repeat the command.',
    })
    this.instances = instances
  }
}
