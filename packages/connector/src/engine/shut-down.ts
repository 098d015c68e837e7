/**
 * Stops a connector.
 *
 *     1 REJECT   commands and registrations                                     (done by the caller)
 *     2 PAUSE    all bindings at once: nothing more is fetched or started
 *     3 WAIT     for running handlers, up to `shutdownTimeoutMs` of the binding ┐
 *     4 COMMIT   what was settled                                               ├ each member on its own
 *     5 LEAVE    the groups; nothing is committed after that (I18)              ┘
 *     then close the producers of retry and dead letter records, which draining uses
 *
 * A binding that hangs does not block the others, because steps 3 to 5 run per member.
 */

import { StopDeadlineError } from '@waybill/core'
import { type Deadline } from '@waybill/core/internal'
import type { ClusterLink } from '../run/cluster-link.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'

/** The bindings and clusters to stop, and the queue of each binding's commands. */
export interface ShutDownParts {
  readonly bindings: readonly RegisteredBinding[]
  readonly clusters: Iterable<ClusterLink>
  readonly serially: <T>(binding: RegisteredBinding, command: () => Promise<T>) => Promise<T>
}

/** The share of the deadline that bindings may use; the rest is for closing producers. */
const bindingShare = 0.9

/** Stops all bindings, then closes the producers. @throws StopDeadlineError that names the handlers that still run. */
export async function shutDown({ bindings, clusters, serially }: ShutDownParts, deadline: Deadline): Promise<void> {
  // Not queued behind other commands: a slow one must not let records start meanwhile.
  for (const binding of bindings) if (binding.isOpen) binding.hold('SHUTDOWN')
  await Promise.all(
    bindings.map((binding) => serially(binding, () => binding.close({ deadlineMs: shareOf(deadline, binding) }))),
  )
  await Promise.all(Array.from(clusters, (cluster) => cluster.close()))
  const unfinished = bindings.flatMap((binding) => binding.unfinished())
  if (unfinished.length > 0) throw new StopDeadlineError('connector', unfinished)
}

/** The minimum: producers must be closed even without bindings or with short timeouts. */
const leastMs = 30_000

/** Returns the default deadline of a stop: every binding has its whole `shutdownTimeoutMs`. */
export function shutDownMs(bindings: readonly RegisteredBinding[]): number {
  const longest = bindings.reduce((ms, { resolved }) => Math.max(ms, resolved.shutdownTimeoutMs), 0)
  return Math.max(leastMs, Math.ceil(longest / bindingShare))
}

function shareOf(deadline: Deadline, { resolved }: RegisteredBinding): number {
  return Math.min(resolved.shutdownTimeoutMs, Math.floor(deadline.remainingMs() * bindingShare))
}
