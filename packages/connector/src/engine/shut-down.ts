/**
 * How a connector stops (S0-159).
 *
 *     1 REJECT   no more commands, no more registrations       (whoever calls this has seen to it)
 *     2 PAUSE    every binding at once: nothing is fetched or started any more
 *     3 WAIT     for what runs, up to `shutdownTimeoutMs` of its binding        ┐
 *     4 COMMIT   what was settled                                               ├ each member for itself
 *     5 LEAVE    the groups; nothing is committed behind it (I18)               ┘
 *     then the producers of retry and dead letter records: draining writes with them (S0-160)
 *
 * One binding that hangs holds up none of the others: 3 to 5 follow one another in each member, not in all together.
 */

import { StopDeadlineError } from '@waybill/core'
import { type Deadline } from '@waybill/core/internal'
import type { ClusterLink } from '../run/cluster-link.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'

/** What is shut down, and how commands of a binding wait for each other. */
export interface ShutDownParts {
  readonly bindings: readonly RegisteredBinding[]
  readonly clusters: Iterable<ClusterLink>
  readonly serially: <T>(binding: RegisteredBinding, command: () => Promise<T>) => Promise<T>
}

/** Of the time a stop has, what bindings may use; the rest is for what they wrote last. */
const bindingShare = 0.9

/** @throws StopDeadlineError that names the handlers that still run. */
export async function shutDown({ bindings, clusters, serially }: ShutDownParts, deadline: Deadline): Promise<void> {
  // Not in the turn of other commands: one that takes its time must not let records start meanwhile.
  for (const binding of bindings) if (binding.isOpen) binding.hold('SHUTDOWN')
  await Promise.all(
    bindings.map((binding) => serially(binding, () => binding.close({ deadlineMs: shareOf(deadline, binding) }))),
  )
  await Promise.all(Array.from(clusters, (cluster) => cluster.close()))
  const unfinished = bindings.flatMap((binding) => binding.unfinished())
  if (unfinished.length > 0) throw new StopDeadlineError('connector', unfinished)
}

/** Without any binding, or with impatient ones, producers still have to be closed. */
const leastMs = 30_000

/** Until when a connector waits by default: every binding has the whole of its own `shutdownTimeoutMs`. */
export function shutDownMs(bindings: readonly RegisteredBinding[]): number {
  const longest = bindings.reduce((ms, { resolved }) => Math.max(ms, resolved.shutdownTimeoutMs), 0)
  return Math.max(leastMs, Math.ceil(longest / bindingShare))
}

function shareOf(deadline: Deadline, { resolved }: RegisteredBinding): number {
  return Math.min(resolved.shutdownTimeoutMs, Math.floor(deadline.remainingMs() * bindingShare))
}
