import { WaybillError } from '@waybill/core'
import type { BindingCommand, ContainerState } from './container-state.ts'

/** A command that the binding's state does not allow. */
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

/** What makes the command possible; nothing where it has no more to do. */
function nextStep(command: BindingCommand, binding: string, state: ContainerState): { readonly hint?: string } {
  if (state === 'DESTROYED') return { hint: `Register it anew: connector.register('${binding}', …).` }
  if (['seek', 'skip', 'reset'].includes(command))
    return { hint: `Pause it first: connector.pause('${binding}'), and resume it when its positions are moved.` }
  if (command === 'unregister') return { hint: `Stop it first: connector.stop('${binding}').` }
  if (command === 'pause' && state !== 'PAUSED') return { hint: `Start it first: connector.start('${binding}').` }
  return {}
}

/** A binding of this name is registered on this cluster already. */
export class BindingAlreadyExistsError extends WaybillError {
  static override readonly code = 'WAYBILL_BINDING_EXISTS'

  constructor(key: string) {
    super(`A binding '${key}' is registered already.`, {
      impact: 'It goes on as it was, and nothing was added.',
      hint: 'Take another name, or destroy the registered one first.',
    })
  }
}

/** No binding has this name, or several have and the cluster was not said. */
export class BindingNotFoundError extends WaybillError {
  static override readonly code = 'WAYBILL_BINDING_NOT_FOUND'

  constructor(name: string, known: readonly string[], isAmbiguous = false) {
    const list = known.length === 0 ? 'none' : known.join(', ')
    super(
      isAmbiguous
        ? `Several clusters have a binding '${name}': ${list}.`
        : `There is no binding '${name}'. Registered are: ${list}.`,
      {
        impact: 'Nothing was changed.',
        hint: isAmbiguous ? 'Name it with its cluster.' : 'Correct the name, or register the binding.',
      },
    )
  }
}

/** The connector stops or has stopped, and takes no more commands. */
export class ConnectorClosedError extends WaybillError {
  static override readonly code = 'WAYBILL_CONNECTOR_CLOSED'

  constructor(what: string) {
    super(`Cannot ${what}: the connector is stopping or has stopped.`, {
      impact: 'Nothing was changed. What is not settled is delivered again after the next start.',
      hint: 'Make another connector.',
    })
  }
}
