import { WaybillError } from '@waybill/core'
import type { BindingCommand, ContainerState } from './container-state.ts'

/** A command is not allowed in the binding's current state. */
export class InvalidContainerStateError extends WaybillError {
  static override readonly code = 'WAYBILL_CONTAINER_STATE_INVALID'
  readonly binding: string
  readonly state: ContainerState

  constructor(command: BindingCommand, binding: string, state: ContainerState, required: readonly ContainerState[]) {
    super(
      `Cannot ${command} binding '${binding}': current state is ${state}, ${command} requires ${required.join(' or ')}`,
      { impact: 'Nothing was changed.', ...nextStep(command, binding, state) },
    )
    this.binding = binding
    this.state = state
  }
}

/** Returns a hint that makes the command possible; none if the command has nothing left to do. */
function nextStep(command: BindingCommand, binding: string, state: ContainerState): { readonly hint?: string } {
  if (state === 'DESTROYED') return { hint: `Register it again: connector.register('${binding}', …).` }
  if (['seek', 'skip', 'reset'].includes(command))
    return { hint: `Pause it first: connector.pause('${binding}'). Resume it after moving its positions.` }
  if (command === 'unregister') return { hint: `Stop it first: connector.stop('${binding}').` }
  if (command === 'pause' && state !== 'PAUSED') return { hint: `Start it first: connector.start('${binding}').` }
  return {}
}

/** A binding with this name is already registered on this cluster. */
export class BindingAlreadyExistsError extends WaybillError {
  static override readonly code = 'WAYBILL_BINDING_EXISTS'

  constructor(key: string) {
    super(`Cannot register binding '${key}': a binding with this name is already registered.`, {
      impact: 'Nothing was changed. The registered binding is unaffected.',
      hint: 'Use another name, or destroy the registered binding first.',
    })
  }
}

/** No binding has this name, or bindings of several clusters do and the command names no cluster. */
export class BindingNotFoundError extends WaybillError {
  static override readonly code = 'WAYBILL_BINDING_NOT_FOUND'

  constructor(name: string, known: readonly string[], isAmbiguous = false) {
    const list = known.length === 0 ? 'none' : known.join(', ')
    super(
      isAmbiguous
        ? `Binding '${name}' is ambiguous: ${list}.`
        : `There is no binding '${name}'. Registered bindings: ${list}.`,
      {
        impact: 'Nothing was changed.',
        hint: isAmbiguous ? 'Use {cluster}:{name}.' : 'Correct the name, or register the binding.',
      },
    )
  }
}

/** The connector is stopping or has stopped, and rejects commands. */
export class ConnectorClosedError extends WaybillError {
  static override readonly code = 'WAYBILL_CONNECTOR_CLOSED'

  constructor(what: string) {
    super(`Cannot ${what}: the connector is stopping or has stopped.`, {
      impact: 'Nothing was changed. Unsettled records are delivered again after the next start.',
      hint: 'Create a new connector.',
    })
  }
}
