/** Every simulation that `npm run sim` knows. */

import type { Simulation } from './simulation.ts'

/**
 * Module addresses. They are loaded by name, on demand: a bug must be planted before the sources under test are loaded,
 * and a simulation does not need the sources of another.
 */
export const simulationModules: Readonly<Record<string, string>> = {
  client: import.meta.resolve('./client/client-simulation.ts'),
  connector: import.meta.resolve('./connector/connector-simulation.ts'),
  control: import.meta.resolve('./control/control-simulation.ts'),
  operation: import.meta.resolve('./operation/operation-simulation.ts'),
  outbox: import.meta.resolve('./outbox/outbox-simulation.ts'),
  projection: import.meta.resolve('./projection/projection-simulation.ts'),
  replay: import.meta.resolve('./replay/replay-simulation.ts'),
  transaction: import.meta.resolve('./transaction/transaction-simulation.ts'),
}

/** Loads the simulation that a module exports as `simulation`. */
export async function loadSimulation(module: string): Promise<Simulation> {
  const { simulation } = (await import(module)) as { readonly simulation: Simulation }
  return simulation
}
