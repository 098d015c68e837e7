/** What connectors say of their health: red when something stands still or is lost, and not without a reason (L4, C-72). */

import { drains } from '../world/run-world.ts'
import type { BindingPlan } from './binding-plan.ts'
import type { ConnectorProcess } from './connector-process.ts'
import type { World } from './world.ts'

/** A watch looks every five seconds; what it saw a moment too early it sees the next time. */
const looksMs = 2 * 5_000 + 1_000

/** Waits until the obstruction has lasted long enough, and asks whether somebody says so. */
export async function tellsOfObstruction(world: World, processes: readonly ConnectorProcess[]): Promise<boolean> {
  const { program, obstruction } = world
  const { stallAfterMs = 0 } = program.obstruction ?? {}
  const hidden = program.bindings.filter((binding) => obstruction.hasHit(binding) && standsStill(world, binding))
  if (hidden.length === 0) return true
  return drains(world, {
    obstacle: () => (processes.some(isDown) ? undefined : 'nobody is DOWN, and a partition stands still'),
    withinMs: stallAfterMs + looksMs,
    lookEveryMs: 500,
    invariant: 'L4',
    since: 'an obstruction',
  })
}

/** Whether the obstruction keeps a partition of the binding from going on, and nobody has decided that it may. */
function standsStill({ obstruction }: World, { options }: BindingPlan): boolean {
  if (obstruction.plan?.kind !== 'FAILING_RECORD') return obstruction.plan?.kind !== 'DEAD_PROCESS'
  return options.failureProfile === 'BLOCKING_UNLIMITED'
}

/** Every process that has found a loss is DOWN until somebody has read it. */
export function tellsOfLosses({ losses, program, court }: World, processes: readonly ConnectorProcess[]): void {
  for (const process of processes)
    for (const { name } of program.bindings)
      if (process.isStarted && losses.counted(name, process.name) > 0 && !isDown(process))
        court.violate('C-72', `${process.name} has found lost records of ${name}, and is not DOWN`)
}

/** Where everything is settled, and every loss read as it is found, nobody is DOWN, at the latest after the next looks. */
export function becomesHealthy(
  world: World,
  processes: readonly ConnectorProcess[],
  acknowledge: (process: ConnectorProcess) => void,
): Promise<boolean> {
  return drains(world, {
    obstacle: () => {
      for (const process of processes) acknowledge(process)
      const process = processes.find((one) => one.isStarted && isDown(one) && !isFenced(one))
      return process && `${process.name} is DOWN: ${JSON.stringify(process.connector.health().reasons)}`
    },
    withinMs: looksMs,
    lookEveryMs: 500,
    invariant: 'L4',
    since: 'everything was settled',
  })
}

/** Another has taken its place for good: it is not tried again, and says so. */
function isFenced({ connector }: ConnectorProcess): boolean {
  const members = connector.listBindings().flatMap(({ containers }) => containers.flatMap((one) => one.members))
  return members.some(({ state, instanceId }) => state === 'FAILED' && instanceId !== undefined)
}

function isDown({ connector }: ConnectorProcess): boolean {
  return connector.health().status === 'DOWN'
}
