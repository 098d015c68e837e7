import type { Control } from '../api/control.ts'
import { FleetControlEngine } from './fleet-control-engine.ts'
import { type FleetControlOptions, resolveFleetOptions } from './fleet-options.ts'

/** A {@link Control} that reaches all processes that share its log. Stop it after the connector. */
export interface FleetControl extends Control, AsyncDisposable {
  /** Says that this instance leaves, and ends reading. */
  stop(): Promise<void>
}

/**
 * Creates a control for all processes of a service. Pass it to `createConnector`, and stop it after the connector. It
 * connects when the connector starts.
 *
 * @throws OptionsError
 */
export function createFleetControl(options: FleetControlOptions): FleetControl {
  return new FleetControlEngine(resolveFleetOptions(options))
}
