/** Checks reported health: DOWN when something is stalled or lost, and not without a reason (L4). */

import { drains } from '../world/run-world.ts'
import type { BindingPlan } from './binding-plan.ts'
import type { ConnectorProcess } from './connector-process.ts'
import type { World } from './world.ts'

/** Two checks of the watch, which runs every five seconds, plus a margin. */
const looksMs = 2 * 5_000 + 1_000

/** Waits until the obstruction has lasted long enough, and checks that a process reports it. */
export async function checkObstructionReported(world: World, processes: readonly ConnectorProcess[]): Promise<boolean> {
  const { program, obstruction } = world
  const { stallAfterMs = 0 } = program.obstruction ?? {}
  const hidden = program.bindings.filter((binding) => obstruction.hasHit(binding) && isStalled(world, binding))
  if (hidden.length === 0) return true
  return drains(world, {
    obstacle: () => (processes.some(isDown) ? undefined : 'no process is DOWN, and a partition is stalled'),
    withinMs: stallAfterMs + looksMs,
    lookEveryMs: 500,
    invariant: 'L4',
    since: 'an obstruction',
  })
}

/** Returns true when the obstruction stalls a partition of the binding, and its options do not allow that. */
function isStalled({ obstruction }: World, { options }: BindingPlan): boolean {
  if (obstruction.plan?.kind !== 'FAILING_RECORD') return obstruction.plan?.kind !== 'DEAD_PROCESS'
  return options.failureProfile === 'BLOCKING_UNLIMITED'
}

/** Checks that every process that found a loss is DOWN until it is acknowledged. */
export function checkLossesReported({ losses, program, court }: World, processes: readonly ConnectorProcess[]): void {
  for (const process of processes)
    for (const { name } of program.bindings)
      if (process.isStarted && losses.counted(name, process.name) > 0 && !isDown(process))
        court.violate('C-72', `${process.name} has found lost records of ${name}, and is not DOWN`)
}

/**
 * Checks that no process is DOWN once everything is settled and every loss is acknowledged, at the latest after the
 * next checks.
 */
export function checkHealthy(
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

/** Returns true when another process has fenced it permanently: it is not restarted, and reports so. */
function isFenced({ connector }: ConnectorProcess): boolean {
  const members = connector.listBindings().flatMap(({ containers }) => containers.flatMap((one) => one.members))
  return members.some(({ state, instanceId }) => state === 'FAILED' && instanceId !== undefined)
}

function isDown({ connector }: ConnectorProcess): boolean {
  return connector.health().status === 'DOWN'
}
